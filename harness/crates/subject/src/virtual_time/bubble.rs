//! The task of a bubble: delivers one stimulus at a time, and advances its clock with the
//! simulation's.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use lockstep_support::clock;

use super::frames::{BubbleFrame, BubbleStart, BubbleTurn, IdleReport, Preamble};
use super::pool::{EndedBubble, ProgramLink};
use super::requests::{self, BubbleRequests, ReadyOrder};

/// How often in a row timers of the current instant may fire before a stimulus is delivered.
/// Otherwise both would happen at once, in the order of the Go scheduler. A timer that has fired
/// may create another, and a stopped one may still be reported.
const MAX_FIRES: u32 = 3;
/// How often other tasks of the simulation run first at one instant: the first time all that can
/// run, the second time those that they have woken.
const YIELDS: u32 = 2;

/// The bubble of one case.
pub(super) struct Bubble {
    link: ProgramLink,
    client: kube::Client,
    requests: BubbleRequests,
    order: ReadyOrder,
    seed: u64,
    /// Its clock, in nanoseconds since 1970.
    now: i64,
    /// When its next timer is due.
    next: Option<i64>,
    /// How often in a row its timers of this instant have fired.
    fires: u32,
}

/// The bubble made a request before the stimulus was due, so the stimulus was not delivered.
struct EarlyRequest {
    /// How often its timers have fired.
    fired: u32,
}

impl Bubble {
    pub(super) fn new(link: ProgramLink, client: kube::Client, seed: u64) -> Self {
        let (requests, order) = (BubbleRequests::new(seed), ReadyOrder::new(seed));
        Self { link, client, requests, order, seed, now: 0, next: None, fires: 0 }
    }

    /// Runs the bubble until its program is unusable; usually it is dropped before.
    pub(super) async fn run(mut self, controllers: Vec<String>) {
        let Err(EndedBubble) = self.play(controllers).await;
    }

    async fn play(&mut self, controllers: Vec<String>) -> Result<std::convert::Infallible, EndedBubble> {
        let start = BubbleStart { now: time(), controllers, seed: self.seed };
        let frame = self.link.exchange(|process| process.begin(&start))?;
        self.handle_frames(frame).await?;
        loop {
            self.wait().await;
            let time = time();
            if self.link.knows_after()
                && let Some((id, order)) = self.choose()
            {
                self.deliver_at(time, id, order).await?;
                continue;
            }
            if self.now < time {
                self.advance(time).await?;
                // Process its requests before delivering a stimulus.
                continue;
            }
            if self.fires < MAX_FIRES
                && let Some(next) = self.next.filter(|next| *next <= self.now + 1)
            {
                self.fires += 1;
                self.advance(next).await?;
                continue;
            }
            self.fires = 0;
            if let Some((id, order)) = self.choose() {
                self.order = order;
                self.deliver(id).await?;
            }
        }
    }

    /// Chooses the next stimulus, with the random sequence after the choice.
    fn choose(&self) -> Option<(u64, ReadyOrder)> {
        let mut order = self.order.clone();
        let id = self.requests.choose(&mut order)?;
        Some((id, order))
    }

    /// Waits until there is a stimulus, or its next timer is due; then until everything else at
    /// this instant has happened.
    async fn wait(&mut self) {
        let due = self.next.map(|next| Duration::from_nanos(u64::try_from(next - time()).unwrap_or_default()));
        let mut due: Option<Pin<Box<tokio::time::Sleep>>> = due.map(|due| Box::pin(clock::sleep(due)));
        std::future::poll_fn(|cx| {
            let is_due = due.as_mut().is_some_and(|due| due.as_mut().poll(cx).is_ready());
            if self.requests.poll(cx, time()) > 0 || is_due { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
            std::future::poll_fn(|cx| {
                self.requests.poll(cx, time());
                Poll::Ready(())
            })
            .await;
        }
    }

    /// Advances its clock, up to an instant or its next request.
    async fn advance(&mut self, until: i64) -> Result<(), EndedBubble> {
        let frame = self.link.exchange(|process| process.turn(BubbleTurn::Advance { until }))?;
        self.handle_frames(frame).await.map(drop)
    }

    /// Delivers the stimulus of a request or a watch.
    async fn deliver(&mut self, id: u64) -> Result<(), EndedBubble> {
        let Some(turn) = self.requests.turn(id) else { return Ok(()) };
        let frame = self.link.exchange(|process| process.turn(turn))?;
        self.handle_frames(frame).await?;
        self.requests.mark_delivered(id);
        Ok(())
    }

    /// Advances its clock to the present and fires its timers; and, if it makes no request
    /// meanwhile, delivers the stimulus of a request or a watch: all in one turn.
    async fn deliver_at(&mut self, time: i64, id: u64, order: ReadyOrder) -> Result<(), EndedBubble> {
        let Some(turn) = self.requests.turn(id) else { return Ok(()) };
        let after = Preamble { until: time, timers: MAX_FIRES - self.fires };
        let is_due = after.timers > 0 && self.next.is_some_and(|next| next <= self.now + 1);
        let frame = self.link.exchange(|process| match self.now < time || is_due {
            true => process.turn_after(after, turn),
            false => process.turn(turn),
        })?;
        match self.handle_frames(frame).await? {
            Some(EarlyRequest { fired }) => self.fires = MAX_FIRES.min(self.fires + fired),
            None => {
                self.requests.mark_delivered(id);
                (self.order, self.fires) = (order, 0);
            }
        }
        Ok(())
    }

    /// Handles its frames until it is idle; returns whether the turn's stimulus was not delivered.
    async fn handle_frames(&mut self, mut frame: BubbleFrame) -> Result<Option<EarlyRequest>, EndedBubble> {
        loop {
            frame = match frame {
                BubbleFrame::Idle(idle) => {
                    let early = idle.early.then_some(EarlyRequest { fired: idle.fired });
                    self.idle(idle);
                    return Ok(early);
                }
                BubbleFrame::Ask(request) => {
                    // Its clock stops meanwhile, and catches up before the next turn.
                    let id = request.id;
                    let answer = requests::send(self.client.clone(), request).await.map(|answer| answer.response);
                    self.link.exchange(|process| process.answer(id, &answer))?
                }
                // These frames do not occur in a running bubble; the link has refused worse ones.
                BubbleFrame::Done(_) | BubbleFrame::Hello(_) | BubbleFrame::Failed(_) => return Err(EndedBubble),
            }
        }
    }

    fn idle(&mut self, idle: IdleReport) {
        let IdleReport { now, next, requests, cancelled, closed, .. } = idle;
        (self.now, self.next) = (now, next);
        for request in requests {
            self.requests.begin(&self.client, request);
        }
        for id in cancelled.into_iter().chain(closed) {
            self.requests.drop(id);
        }
    }
}

/// The simulation's time, in nanoseconds since 1970.
fn time() -> i64 {
    i64::try_from(clock::now().as_nanosecond()).unwrap_or(i64::MAX)
}
