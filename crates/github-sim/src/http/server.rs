//! The listening side. Written out because a fault may have to cut a connection without an answer, which
//! `axum::serve` cannot.

use std::convert::Infallible;
use std::future::Future;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

/// In a response's extensions: close the connection instead of sending it.
#[derive(Clone, Copy, Debug)]
pub struct Abort;

#[derive(Debug, thiserror::Error)]
#[error("the connection was cut by a fault")]
struct Cut;

/// Serves until `stop` resolves, then lets running requests finish for a moment.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new());
    let graceful = GracefulShutdown::new();
    let requests = TaskTracker::new();
    tokio::pin!(stop);
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: wait for some to come free.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        let _ = stream.set_nodelay(true);
        let (router, requests) = (router.clone(), requests.clone());
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            if let Some(uri) = super::paths::with_encoded_names(request.uri()) {
                *request.uri_mut() = uri;
            }
            // As a task of its own: what was asked for is done to its end, also when the caller hangs up meanwhile.
            let work = requests.spawn(router.clone().oneshot(request.map(axum::body::Body::new) as Request));
            async move {
                let response = work.await.map_err(|_| Cut)?.unwrap_or_else(|never: Infallible| match never {});
                if response.extensions().get::<Abort>().is_some() { Err(Cut) } else { Ok(response) }
            }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    requests.close();
    let finish = async { tokio::join!(graceful.shutdown(), requests.wait()) };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(2), finish).await;
}
