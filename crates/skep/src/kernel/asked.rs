//! The kernels that are built in.

/// The tested kernels (packages of Debian and Ubuntu): the name and the exact release.
pub const ASKED: [(&str, &str); 13] = [
    ("5.10", "5.10.0-46-cloud-amd64"),
    ("5.15", "5.15.0-204-generic"),
    ("6.1", "6.1.0-56-cloud-amd64"),
    ("6.8", "6.8.0-151-generic"),
    ("6.12", "6.12.117+deb12-cloud-amd64"),
    ("6.16", "6.16.12+deb13-cloud-amd64"),
    ("6.17", "6.17.13+deb13-cloud-amd64"),
    ("6.18", "6.18.15+deb13-cloud-amd64"),
    ("6.19", "6.19.14+deb13-cloud-amd64"),
    ("7.0", "7.0.13+deb13-cloud-amd64"),
    ("7.1", "7.1.13+deb13-cloud-amd64"),
    ("7.2", "7.2.12+deb13-cloud-amd64"),
    ("7.3", "7.3.4+deb13-cloud-amd64"),
];

/// Kernels that could not be tested: upstream long-term releases, or those of distributions.
pub const FROM_TABLE: [&str; 2] = ["5.4", "6.6"];
