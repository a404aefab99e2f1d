//! The kernels that are built in.

/// The tested kernels (packages of Debian and Ubuntu), oldest first: the name and the exact
/// release. One build of each series has the name of the series; each of the others has a longer
/// one.
pub const ASKED: [(&str, &str); 35] = [
    ("5.10.0-30", "5.10.0-30-cloud-amd64"),
    ("5.10", "5.10.0-46-cloud-amd64"),
    ("5.13", "5.13.0-52-generic"),
    ("5.15.0-25", "5.15.0-25-generic"),
    ("5.15", "5.15.0-204-generic"),
    ("5.19", "5.19.0-50-generic"),
    ("6.1.0-1012", "6.1.0-1012-oem"),
    ("6.1.0-47", "6.1.0-47-cloud-amd64"),
    ("6.1", "6.1.0-56-cloud-amd64"),
    ("6.2", "6.2.0-39-generic"),
    ("6.5", "6.5.0-45-generic"),
    ("6.8.0-31", "6.8.0-31-generic"),
    ("6.8", "6.8.0-151-generic"),
    ("6.11.0-17", "6.11.0-17-generic"),
    ("6.11", "6.11.0-29-generic"),
    ("6.12.43", "6.12.43+deb12-cloud-amd64"),
    ("6.12.90", "6.12.90+deb12-cloud-amd64"),
    ("6.12", "6.12.117+deb12-cloud-amd64"),
    ("6.14", "6.14.0-37-generic"),
    ("6.16", "6.16.12+deb13-cloud-amd64"),
    ("6.17", "6.17.13+deb13-cloud-amd64"),
    ("6.17.0-42", "6.17.0-42-generic"),
    ("6.18.5", "6.18.5+deb13-cloud-amd64"),
    ("6.18", "6.18.15+deb13-cloud-amd64"),
    ("6.19.6", "6.19.6+deb13-cloud-amd64"),
    ("6.19", "6.19.14+deb13-cloud-amd64"),
    ("7.0.0-14", "7.0.0-14-generic"),
    ("7.0.4", "7.0.4+deb13-cloud-amd64"),
    ("7.0", "7.0.13+deb13-cloud-amd64"),
    ("7.0.0-44", "7.0.0-44-generic"),
    ("7.1.3", "7.1.3+deb13-cloud-amd64"),
    ("7.1", "7.1.13+deb13-cloud-amd64"),
    ("7.2.6", "7.2.6+deb13-cloud-amd64"),
    ("7.2", "7.2.12+deb13-cloud-amd64"),
    ("7.3", "7.3.4+deb13-cloud-amd64"),
];

/// Kernels that could not be tested: upstream long-term releases, or those of distributions.
pub const FROM_TABLE: [&str; 2] = ["5.4", "6.6"];
