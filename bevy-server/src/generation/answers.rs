//! Sends generated floors to their callers: from a task of the runtime, to which the workers hand them over.
//!
//! The workers wake that task through a socket, so the thread that waits for sockets runs it. If they woke a caller's
//! task directly, tokio would wake a second thread, to look for more work. Floors that are finished before the task runs
//! are sent together.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use floor_cache::{Made, SourceError};
use tokio::sync::oneshot;

/// Where the caller of a job waits.
pub(super) type Reply = oneshot::Sender<Result<Made, SourceError>>;

/// The floors that wait for the task.
#[derive(Default)]
pub(super) struct Answers {
    finished: Mutex<Vec<(Reply, Result<Made, SourceError>)>>,
    /// Wakes the task. Not set where there is none.
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Answers {
    /// Sends `made` to its caller.
    pub(super) fn send(&self, reply: Reply, made: Result<Made, SourceError>) {
        let Some(wake) = self.wake.get() else {
            // Fails if no caller is left, which is no error.
            let _ = reply.send(made);
            return;
        };
        let mut finished = self.lock();
        finished.push((reply, made));
        let is_first = finished.len() == 1;
        drop(finished);
        if is_first {
            wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Reply, Result<Made, SourceError>)>> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(unix)]
mod on_runtime {
    use std::{
        io::{self, Write as _},
        mem,
        os::unix::net::UnixStream,
        sync::Arc,
    };

    use tokio::{io::AsyncReadExt as _, net, runtime::Handle};

    use super::Answers;

    impl Answers {
        /// Starts the task on `runtime`.
        pub(in super::super) fn deliver_on(answers: &Arc<Self>, runtime: &Handle) -> io::Result<()> {
            let (sender, receiver) = UnixStream::pair()?;
            sender.set_nonblocking(true)?;
            receiver.set_nonblocking(true)?;
            let _context = runtime.enter();
            let receiver = net::UnixStream::from_std(receiver)?;
            let task = answers.clone();
            runtime.spawn(async move { task.deliver(receiver).await });
            // A byte that does not fit is not needed: others wait to be read.
            let wake = move || drop((&sender).write(&[0]));
            let _ = answers.wake.set(Box::new(wake));
            Ok(())
        }

        /// Sends floors until the runtime stops.
        async fn deliver(&self, mut receiver: net::UnixStream) {
            let mut bytes = [0; 64];
            // The bytes are read before the floors: a floor that comes between has a byte of its own.
            while receiver.read(&mut bytes).await.is_ok_and(|count| count > 0) {
                let finished = mem::take(&mut *self.lock());
                for (reply, made) in finished {
                    let _ = reply.send(made);
                }
            }
        }
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("finished", &self.lock().len()).finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{sync::Arc, thread, time::Duration};

    use bytes::Bytes;

    use super::*;

    fn made(number: u8) -> Result<Made, SourceError> {
        Ok(Made { value: Bytes::from(vec![number]), took: Duration::ZERO, cpu: Duration::ZERO })
    }

    #[test]
    fn every_answer_arrives_whoever_sends_it() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let on_runtime = Arc::new(Answers::default());
        Answers::deliver_on(&on_runtime, runtime.handle()).unwrap();
        for answers in [on_runtime, Arc::default()] {
            let (replies, callers): (Vec<_>, Vec<_>) = (0..1000).map(|_| oneshot::channel()).unzip();
            let mut replies = replies.into_iter();
            let workers: Vec<_> = (0..4)
                .map(|number| {
                    let (answers, replies) = (answers.clone(), replies.by_ref().take(250).collect::<Vec<_>>());
                    thread::spawn(move || replies.into_iter().for_each(|reply| answers.send(reply, made(number))))
                })
                .collect();
            for (position, caller) in callers.into_iter().enumerate() {
                let value = runtime.block_on(caller).expect("it was answered").unwrap().value;
                assert_eq!(usize::from(value[0]), position / 250);
            }
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            assert!(answers.lock().is_empty());
        }
    }
}
