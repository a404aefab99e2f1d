//! stub
#[derive(clap::Args)]
pub(crate) struct Args {}
#[derive(clap::Args)]
pub(crate) struct WorkerArgs {}
pub(crate) fn run(_: &Args) -> crate::Outcome {
    Ok(true)
}
pub(crate) fn worker(_: &WorkerArgs) -> crate::Outcome {
    Ok(true)
}
