//! The one program of the package; it plays the tool it is called as.

fn main() -> std::process::ExitCode {
    htools::tools::main()
}
