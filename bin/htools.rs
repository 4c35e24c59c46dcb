//! The package's only program. It acts as the tool under whose name it is called.

fn main() -> std::process::ExitCode {
    htools::tools::main()
}
