//! What a command may not ask of the kernel, where no rule about files and processes reaches.
//!
//! What is refused fails with `EACCES`, and nothing is killed for it: but a program for another architecture is at its first call,
//! since its calls have other numbers, 32 bits on a system of 64 included.
//!
//! **Invariant:** what is refused to a thread is refused to all that it starts, and nothing takes that back.

use std::io;

use super::super::guard_protocol::UnixSockets;

/// Which calls are refused.
pub struct RefusedCalls {
    pub sockets: UnixSockets,
    pub signals: SignalRefusal,
}

/// Whether signals to the guard have to be refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SignalRefusal {
    /// Landlock does that, by who is sealed off and who is not.
    BoundOtherwise,
    /// Nothing else does.
    ToThisProcess,
}

/// What became of it.
pub enum FilterOutcome {
    Refuses,
    /// This system cannot.
    Unavailable(&'static str),
}

#[cfg(all(
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
mod filter {
    use std::collections::BTreeMap;
    use std::fs;

    use rustix::io::Errno;
    use rustix::process::getpid;
    use seccompiler::{
        BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op,
        SeccompCondition as Condition, SeccompFilter, SeccompRule,
    };

    use super::{FilterOutcome, RefusedCalls, SignalRefusal, UnixSockets, io};

    /// The bits of a socket's type that are not flags.
    const TYPE: u64 = 0xf;
    /// `F_SETOWN_EX`, and the requests of `ioctl` that do the same for sockets and terminals.
    const SET_OWNER_EX: u64 = 15;
    const SET_OWNER_BY_IOCTL: [u64; 2] = [0x8901, 0x8902];

    type Rules = BTreeMap<i64, Vec<SeccompRule>>;

    pub fn refuse(refused: &RefusedCalls) -> io::Result<FilterOutcome> {
        let program = program(rules(refused)?).map_err(io::Error::other)?;
        match seccompiler::apply_filter(&program) {
            Ok(()) => Ok(FilterOutcome::Refuses),
            Err(Error::Seccomp(error)) if is_unknown(&error) => {
                Ok(FilterOutcome::Unavailable("this kernel has no seccomp"))
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn is_unknown(error: &io::Error) -> bool {
        Errno::from_io_error(error).is_some_and(|errno| matches!(errno, Errno::NOSYS | Errno::INVAL))
    }

    fn program(rules: Rules) -> Result<BpfProgram, BackendError> {
        let refusal = SeccompAction::Errno(libc::EACCES.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, refusal, std::env::consts::ARCH.try_into()?)?.try_into()
    }

    fn rules(refused: &RefusedCalls) -> io::Result<Rules> {
        let mut rules = Rules::new();
        // Whoever sets the limits of another process can have the kernel end it: that of the time it may compute.
        refuse_call(&mut rules, libc::SYS_prlimit64, vec![vec![is_not(0, 0), is_set(2)]]);
        if refused.sockets == UnixSockets::Refused {
            sockets(&mut rules);
        }
        if refused.signals == SignalRefusal::ToThisProcess {
            signals(&mut rules)?;
        }
        Ok(rules)
    }

    fn sockets(rules: &mut Rules) {
        let is_unix = || is(0, number(libc::AF_UNIX));
        refuse_call(rules, libc::SYS_socket, vec![vec![is_unix()]]);
        // A pair that is connected stays so; but for one of datagrams, which can be sent to anybody.
        let datagrams =
            [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| vec![is_unix(), is_masked(1, TYPE, number(kind))]);
        refuse_call(rules, libc::SYS_socketpair, datagrams.into());
        // What is asked for through a ring is not seen here.
        refuse_call(rules, libc::SYS_io_uring_setup, Vec::new());
    }

    /// The guard is a few threads, and whoever kills one of them kills all.
    fn signals(rules: &mut Rules) -> io::Result<()> {
        let threads = fs::read_dir("/proc/self/task")?.flatten();
        let threads = threads.filter_map(|thread| thread.file_name().to_str()?.parse::<i32>().ok());
        let guard = getpid().as_raw_nonzero().get();
        let own: Vec<u64> = threads.map(number).collect();
        let any = |place: u8, values: &[u64]| values.iter().map(|value| vec![is(place, *value)]).collect::<Vec<_>>();
        // With its group, and with all that there is.
        let with_others = [number(-guard), number(-1)];
        refuse_call(rules, libc::SYS_kill, any(0, &[&own[..], &with_others].concat()));
        refuse_call(rules, libc::SYS_tkill, any(0, &own));
        refuse_call(rules, libc::SYS_rt_sigqueueinfo, any(0, &own));
        refuse_call(rules, libc::SYS_tgkill, any(1, &own));
        refuse_call(rules, libc::SYS_rt_tgsigqueueinfo, any(1, &own));
        // Whom it is for is not seen here.
        refuse_call(rules, libc::SYS_pidfd_send_signal, Vec::new());
        // Whoever is in its group signals it with the group.
        refuse_call(rules, libc::SYS_setpgid, any(1, &[number(guard)]));
        // Whoever owns a file is signalled when something happens to it.
        refuse_call(rules, libc::SYS_fcntl, any(1, &[number(libc::F_SETOWN), SET_OWNER_EX]));
        refuse_call(rules, libc::SYS_ioctl, any(1, &SET_OWNER_BY_IOCTL));
        Ok(())
    }

    /// Any of these combinations of arguments is refused; without one, the call is.
    fn refuse_call(rules: &mut Rules, call: i64, combinations: Vec<Vec<Condition>>) {
        let rule = |conditions| SeccompRule::new(conditions).expect("a combination has an argument");
        let combinations: Vec<SeccompRule> = combinations.into_iter().map(rule).collect();
        for number in numbers(call) {
            rules.insert(number, combinations.clone());
        }
    }

    /// The numbers of a call. A program of 64 bits on x86 may use those of x32 as well, with the same architecture.
    fn numbers(call: i64) -> Vec<i64> {
        const X32: i64 = 0x4000_0000;
        let x32 = match call {
            libc::SYS_ioctl => 514,
            libc::SYS_rt_sigqueueinfo => 524,
            libc::SYS_rt_tgsigqueueinfo => 536,
            call => call,
        };
        if cfg!(target_arch = "x86_64") { vec![call, X32 | x32] } else { vec![call] }
    }

    /// An argument that the kernel takes the lower half of a register for.
    fn number(value: i32) -> u64 {
        u64::from(value.cast_unsigned())
    }

    fn is(place: u8, value: u64) -> Condition {
        condition(place, Length::Dword, Op::Eq, value)
    }

    fn is_not(place: u8, value: u64) -> Condition {
        condition(place, Length::Dword, Op::Ne, value)
    }

    fn is_masked(place: u8, mask: u64, value: u64) -> Condition {
        condition(place, Length::Dword, Op::MaskedEq(mask), value)
    }

    /// An address that leads somewhere.
    fn is_set(place: u8) -> Condition {
        condition(place, Length::Qword, Op::Ne, 0)
    }

    fn condition(place: u8, length: Length, op: Op, value: u64) -> Condition {
        Condition::new(place, length, op, value).expect("a call has six arguments")
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
mod filter {
    use super::{FilterOutcome, RefusedCalls, io};

    pub fn refuse(_: &RefusedCalls) -> io::Result<FilterOutcome> {
        Ok(FilterOutcome::Unavailable("calls are not looked at on this architecture"))
    }
}

/// Refuses these calls to this thread and to all that it starts.
pub fn refuse(refused: &RefusedCalls) -> io::Result<FilterOutcome> {
    filter::refuse(refused)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, getpid, kill_process, setpgid, test_kill_process, test_kill_process_group};

    use super::*;

    #[test]
    fn whoever_may_signal_nobody_of_this_process_can_signal_all_others() {
        let refused = || {
            let refused = RefusedCalls { sockets: UnixSockets::Allowed, signals: SignalRefusal::ToThisProcess };
            assert!(matches!(refuse(&refused).unwrap(), FilterOutcome::Refuses));
            let thread = Pid::from_raw(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            assert_eq!(test_kill_process(getpid()), Err(Errno::ACCESS));
            assert_eq!(test_kill_process(thread), Err(Errno::ACCESS), "a thread of it");
            assert_eq!(kill_process(getpid(), Signal::KILL), Err(Errno::ACCESS));
            assert_eq!(test_kill_process_group(getpid()), Err(Errno::ACCESS), "its group");
            assert_eq!(test_kill_process_group(Pid::INIT), Err(Errno::ACCESS), "all that there is");
            assert_eq!(setpgid(None, Some(getpid())), Err(Errno::ACCESS));
            #[expect(clippy::disallowed_methods, reason = "somebody to signal")]
            let mut other = std::process::Command::new("sleep").arg("600").spawn().unwrap();
            let id = Pid::from_child(&other);
            assert_eq!((test_kill_process(id), kill_process(id, Signal::KILL)), (Ok(()), Ok(())));
            other.wait().unwrap();
        };
        std::thread::spawn(refused).join().unwrap();
        // Only that thread is bound.
        assert_eq!(test_kill_process(getpid()), Ok(()));
    }
}
