//! A climb of a sealed tower, which the server verifies floor by floor: it plays the acts again, and reveals the next
//! floor with a receipt. A thread makes the calls, and repeats one until the server has answered.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bevy::prelude::*;
use climb_rules::VERSION;
use floor_client::{
    Answer, CallOptions, ClientError, ClimbFloor, Code, FloorClient, check_url,
    v1::{Daily, Receipt, StartClimbRequest},
};
use tokio::{
    runtime::Builder,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::sleep,
};

use crate::play::{Current, GameState, IsSealed, Journey, Rules, enter};

/// Time from one try of a call to the next, beside those of the client.
const RETRY: Duration = Duration::from_secs(2);

/// Plays a sealed tower. The first floor of [`PlayPlugin`](crate::play::PlayPlugin) must be number 1.
#[derive(Clone)]
pub struct SealedPlugin {
    server: String,
    /// `None`: that of the day.
    tower: Option<String>,
    player: String,
    receipts: PathBuf,
}

/// How the climb stands.
#[derive(Resource)]
pub struct SealedClimb {
    /// The name of the tower. Empty before the first floor.
    pub tower: String,
    /// The floors that the server has verified.
    pub verified: u32,
    /// The same for the player, or why it is not more.
    pub words: String,
    /// The folder of the receipts.
    receipts: PathBuf,
    /// That of the floor in play.
    receipt: Receipt,
    /// What the server revealed, until the player enters it.
    next: Option<Box<ClimbFloor>>,
    calls: UnboundedSender<Call>,
    results: UnboundedReceiver<CallResult>,
}

enum Call {
    /// A new climb.
    Start,
    /// The acts on the floor of a receipt. They stay here until the server has answered.
    Submit(Receipt, Vec<u8>),
}

type CallResult = Result<Answer<ClimbFloor>, ClientError>;

impl SealedPlugin {
    /// Without a tower, that of the day. Writes the receipts into a folder, in JSON, as `climb-TOWER-START-FLOOR.json`.
    /// The start is that of the climb, in milliseconds since 1970 UTC: a second climb overwrites no receipt of the first.
    ///
    /// # Errors
    /// [`ClientError::Address`] if `server` is not the URL of a server.
    pub fn new(server: String, tower: Option<String>, player: String, receipts: PathBuf) -> Result<Self, ClientError> {
        check_url(&server)?;
        Ok(Self { server, tower, player, receipts })
    }

    /// Makes the calls until the game ends.
    async fn make_calls(self, mut calls: UnboundedReceiver<Call>, results: UnboundedSender<CallResult>) {
        let client = FloorClient::connect_lazily(&self.server).expect("the URL is checked");
        let client = client.with_options(CallOptions::default().retries(1));
        while let Some(call) = calls.recv().await {
            loop {
                let result = self.call(&client, &call).await;
                let is_final = !result.as_ref().is_err_and(may_pass);
                if results.send(result).is_err() {
                    return;
                }
                if is_final {
                    break;
                }
                sleep(RETRY).await;
            }
        }
    }

    async fn call(&self, client: &FloorClient, call: &Call) -> CallResult {
        match (call, &self.tower) {
            (Call::Submit(receipt, acts), _) => client.submit_floor(receipt, acts).await,
            (Call::Start, Some(tower)) => client.start_climb(&self.request(tower.clone())).await,
            (Call::Start, None) => {
                let Daily { tower, width, height, pack, .. } = client.get_daily().await?;
                client.start_climb(&StartClimbRequest { width, height, pack, ..self.request(tower) }).await
            }
        }
    }

    fn request(&self, tower: String) -> StartClimbRequest {
        StartClimbRequest { tower, player: self.player.clone(), ..default() }
    }
}

impl Plugin for SealedPlugin {
    fn build(&self, app: &mut App) {
        let ((calls, queue), (sender, results)) = (unbounded_channel(), unbounded_channel());
        let runtime = Builder::new_current_thread().enable_all().build().expect("the system has an event queue left");
        let plugin = self.clone();
        thread::spawn(move || runtime.block_on(plugin.make_calls(queue, sender)));
        app.insert_resource(SealedClimb {
            tower: String::new(),
            verified: 0,
            words: format!("sealed towers of {}", self.server),
            receipts: self.receipts.clone(),
            receipt: default(),
            next: None,
            calls,
            results,
        })
        .insert_resource(IsSealed)
        .add_systems(OnEnter(GameState::Loading), start)
        .add_systems(OnExit(GameState::Climbing), submit)
        .add_systems(Update, (receive, enter_floor.run_if(in_state(GameState::Loading))).chain().in_set(Rules));
    }
}

/// Whether the same call may succeed later.
fn may_pass(error: &ClientError) -> bool {
    let is_late = |code| matches!(code, Code::DeadlineExceeded | Code::ResourceExhausted);
    error.is_transient() || matches!(error, ClientError::Status(status) if is_late(status.code))
}

fn start(journey: Res<Journey>, mut climb: ResMut<SealedClimb>) {
    if journey.request == journey.first {
        climb.verified = 0;
        climb.send(Call::Start);
    }
}

/// Submits the acts on a floor that the player has left by its stairs.
fn submit(level: Res<Current>, mut climb: ResMut<SealedClimb>) {
    if level.is_left() {
        let receipt = climb.receipt.clone();
        climb.send(Call::Submit(receipt, level.log.clone()));
    }
}

fn receive(mut climb: ResMut<SealedClimb>, mut next: ResMut<NextState<GameState>>) {
    let Ok(result) = climb.results.try_recv() else { return };
    let refused = match result {
        Err(error) if may_pass(&error) => {
            climb.words = format!("{error}. What you did is kept; the game tries again.");
            return;
        }
        Err(error) => format!("The server does not go on with this climb: {error}"),
        Ok(Answer { value, .. }) if value.climb.rules_version != VERSION => {
            format!("The server plays version {} of the rules, this game {VERSION}.", value.climb.rules_version)
        }
        Ok(Answer { value, .. }) => {
            climb.accept(value);
            return;
        }
    };
    climb.words = refused;
    next.set(GameState::Refused);
}

/// Enters what the server revealed, with the hero of the receipt.
fn enter_floor(
    mut sealed: ResMut<SealedClimb>,
    mut journey: ResMut<Journey>,
    mut next: ResMut<NextState<GameState>>,
    mut commands: Commands,
) {
    let revealed = sealed.next.take().map(|revealed| *revealed);
    let Some(ClimbFloor { receipt, climb, floor: Some(floor), rolls }) = revealed else { return };
    sealed.receipt = receipt;
    sealed.tower = climb.tower;
    journey.hero = floor_climb::hero(&climb.hero.unwrap_or_default());
    enter(Arc::new(floor), journey.hero.clone(), Some(rolls), &mut commands);
    next.set(GameState::Climbing);
}

impl SealedClimb {
    fn send(&mut self, call: Call) {
        self.words = "waiting for the server".to_owned();
        self.calls.send(call).unwrap_or_else(|_| self.words = "the thread of the calls has ended".to_owned());
    }

    fn accept(&mut self, revealed: ClimbFloor) {
        let ClimbFloor { receipt, climb, .. } = &revealed;
        self.verified = climb.floor - 1;
        let path = self.receipts.join(format!("climb-{}-{}-{}.json", climb.tower, climb.started_ms, climb.floor));
        let saved = match save(receipt, &path) {
            Ok(()) => format!("receipt: {}", path.display()),
            Err(error) => format!("the receipt cannot be written to {}: {error}", path.display()),
        };
        self.words = format!("verified: floor {}; {saved}", self.verified);
        self.next = Some(Box::new(revealed));
    }
}

/// Writes a receipt in the JSON of proto3, under another name first, so that none is there in part.
fn save(Receipt { climb, signature, key }: &Receipt, path: &Path) -> io::Result<()> {
    let [climb, signature] = [climb, signature].map(|bytes| BASE64_STANDARD.encode(bytes));
    let new = path.with_added_extension("new");
    fs::write(&new, format!("{{\"climb\":\"{climb}\",\"signature\":\"{signature}\",\"key\":{key}}}\n"))?;
    fs::rename(&new, path)
}
