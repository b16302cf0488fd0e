//! That a fixer reaches nothing of the daemon's user that listens on a UNIX socket, and ends nothing by its limits.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::agent::fixer::Fixer;
use crate::agent::ways::ways;
use merge_train::agent::{FixerProcessExit, UnixSockets};

/// Says of every way to a socket what it comes to. `$OUTSIDE` listens, and so does the socket that has `$NAME` and no place.
const CONNECTS: &str = "
import ctypes, errno, os, socket, tempfile
def tell(what, attempt):
    try: said = attempt()
    except OSError as error: said = errno.errorcode[error.errno]
    print(what, said or 'works', flush=True)
def connect(address):
    def attempt():
        with socket.socket(socket.AF_UNIX) as ours: ours.connect(address)
    return attempt
def serve(address):
    def attempt():
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen()
            connect(address)()
    return attempt
def pair(kind, sends_to=None):
    def attempt():
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
        with ours, theirs:
            ours.send(b'x')
            assert theirs.recv(1) == b'x'
            if sends_to: ours.sendto(b'x', sends_to)
    return attempt
def call(number, *arguments):
    def attempt():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(number, *arguments) < 0: raise OSError(ctypes.get_errno(), '')
    return attempt
tell('outside', connect(os.environ['OUTSIDE']))
tell('nameless', connect('\\0' + os.environ['NAME']))
tell('inside', serve('own-socket'))
tell('own nameless', serve('\\0own-' + os.environ['NAME']))
tell('pair', pair(socket.SOCK_STREAM))
tell('sequence', pair(socket.SOCK_SEQPACKET))
tell('datagrams', pair(socket.SOCK_DGRAM, os.environ['POST']))
tell('raw', pair(socket.SOCK_RAW, os.environ['POST']))
tell('ring', call(425, 1, ctypes.create_string_buffer(256)))
if os.uname().machine == 'x86_64': tell('x32', call(0x40000000 | 41, 1, 1, 0))
tell('network', lambda: socket.create_server(('127.0.0.1', 0)).close())
";

/// What a fixer tells of the ways, in a process that another has started, and whether anybody was reached.
async fn told(unix_sockets: UnixSockets) -> (Vec<String>, bool) {
    let outside = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let listening = UnixListener::bind(outside.path().join("agent")).expect("a socket");
    let post = std::os::unix::net::UnixDatagram::bind(outside.path().join("post")).expect("a socket");
    let name = format!("merge-train-{}", outside.path().display());
    let nameless = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("a socket");
    listening.set_nonblocking(true).expect("it can be looked at");
    nameless.set_nonblocking(true).expect("it can be looked at");
    post.set_nonblocking(true).expect("it can be looked at");
    let mut fixer = Fixer::with_script("python3 ways.py");
    std::fs::write(fixer.checkout().join("ways.py"), CONNECTS).expect("it is written");
    let text = |file: &str| outside.path().join(file).display().to_string();
    fixer.environment = [("OUTSIDE", text("agent")), ("POST", text("post")), ("NAME", name)]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec();
    fixer.unix_sockets = unix_sockets;
    let exit = fixer.watch().await.exit;
    assert_eq!(exit, FixerProcessExit::Done, "{}", fixer.logged());
    let is_reached = listening.accept().is_ok() || nameless.accept().is_ok() || post.recv(&mut [0]).is_ok();
    (fixer.logged().lines().map(str::to_owned).collect(), is_reached)
}

#[tokio::test]
async fn a_fixer_connects_to_no_unix_socket_whatever_way_it_tries() {
    for way in ways() {
        let (told, is_reached) = told(UnixSockets::Refused).await;
        assert!(!is_reached, "{way:?}: {told:?}");
        let expected = [
            "outside EACCES",
            "nameless EACCES",
            "inside EACCES",
            "own nameless EACCES",
            "pair works",
            "sequence works",
            "datagrams EACCES",
            "raw EACCES",
            "ring EACCES",
            #[cfg(target_arch = "x86_64")]
            "x32 EACCES",
            "network works",
        ];
        assert_eq!(told, expected, "{way:?}");
    }
}

#[tokio::test]
async fn where_unix_sockets_are_allowed_those_without_a_place_are_its_own_alone() {
    for way in ways() {
        let (told, is_reached) = told(UnixSockets::Allowed).await;
        assert!(is_reached, "{way:?}: {told:?}");
        for line in ["outside works", "nameless EPERM", "inside works", "own nameless works", "datagrams works"] {
            assert!(told.iter().any(|told| told == line), "{way:?}: {line}: {told:?}");
        }
    }
}

#[tokio::test]
async fn a_fixer_sets_its_own_limits_and_nobody_elses() {
    let script = "import os, resource, sys
resource.prlimit(0, resource.RLIMIT_CPU, (600, 600))
resource.prlimit(os.getppid(), resource.RLIMIT_CPU)
for process in os.getppid(), int(os.environ['DAEMON']):
    try: resource.prlimit(process, resource.RLIMIT_CPU, (0, 0))
    except PermissionError: print('refused')
";
    for way in ways() {
        let mut fixer = Fixer::with_python(script);
        fixer.environment = vec![("DAEMON".to_owned(), std::process::id().to_string())];
        let exit = fixer.watch().await.exit;
        assert_eq!((exit, fixer.logged().as_str()), (FixerProcessExit::Done, "refused\nrefused\n"), "{way:?}");
    }
}
