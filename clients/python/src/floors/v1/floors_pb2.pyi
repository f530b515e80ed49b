from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class View(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VIEW_UNSPECIFIED: _ClassVar[View]
    VIEW_PLAYER: _ClassVar[View]

class FloorKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FLOOR_KIND_UNSPECIFIED: _ClassVar[FloorKind]
    FLOOR_KIND_STANDARD: _ClassVar[FloorKind]
    FLOOR_KIND_KEEP: _ClassVar[FloorKind]
    FLOOR_KIND_HALLS: _ClassVar[FloorKind]
    FLOOR_KIND_CAVERN: _ClassVar[FloorKind]
    FLOOR_KIND_CYCLIC: _ClassVar[FloorKind]
    FLOOR_KIND_MAZE: _ClassVar[FloorKind]
    FLOOR_KIND_BOSS: _ClassVar[FloorKind]
    FLOOR_KIND_EVENT: _ClassVar[FloorKind]
    FLOOR_KIND_STORY: _ClassVar[FloorKind]

class GridEncoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GRID_ENCODING_UNSPECIFIED: _ClassVar[GridEncoding]
    GRID_ENCODING_UNIFORM: _ClassVar[GridEncoding]
    GRID_ENCODING_RAW8: _ClassVar[GridEncoding]
    GRID_ENCODING_PACKED: _ClassVar[GridEncoding]
    GRID_ENCODING_RLE: _ClassVar[GridEncoding]

class Terrain(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TERRAIN_UNSPECIFIED: _ClassVar[Terrain]
    TERRAIN_WALL: _ClassVar[Terrain]
    TERRAIN_FLOOR: _ClassVar[Terrain]
    TERRAIN_DOOR: _ClassVar[Terrain]
    TERRAIN_LOCKED_DOOR: _ClassVar[Terrain]
    TERRAIN_SECRET_DOOR: _ClassVar[Terrain]
    TERRAIN_STAIRS_UP: _ClassVar[Terrain]
    TERRAIN_STAIRS_DOWN: _ClassVar[Terrain]
    TERRAIN_SHALLOW_WATER: _ClassVar[Terrain]
    TERRAIN_DEEP_WATER: _ClassVar[Terrain]
    TERRAIN_LAVA: _ClassVar[Terrain]
    TERRAIN_CHASM: _ClassVar[Terrain]
    TERRAIN_BRIDGE: _ClassVar[Terrain]
    TERRAIN_GRASS: _ClassVar[Terrain]
    TERRAIN_RUBBLE: _ClassVar[Terrain]
    TERRAIN_PILLAR: _ClassVar[Terrain]

class RoomRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROOM_ROLE_UNSPECIFIED: _ClassVar[RoomRole]
    ROOM_ROLE_ENTRY: _ClassVar[RoomRole]
    ROOM_ROLE_EXIT: _ClassVar[RoomRole]
    ROOM_ROLE_COMBAT: _ClassVar[RoomRole]
    ROOM_ROLE_TREASURE: _ClassVar[RoomRole]
    ROOM_ROLE_KEY: _ClassVar[RoomRole]
    ROOM_ROLE_SHRINE: _ClassVar[RoomRole]
    ROOM_ROLE_SHOP: _ClassVar[RoomRole]
    ROOM_ROLE_BOSS: _ClassVar[RoomRole]
    ROOM_ROLE_VAULT: _ClassVar[RoomRole]
    ROOM_ROLE_SECRET: _ClassVar[RoomRole]
    ROOM_ROLE_PASSAGE: _ClassVar[RoomRole]

class Behaviour(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BEHAVIOUR_UNSPECIFIED: _ClassVar[Behaviour]
    BEHAVIOUR_SLEEPS: _ClassVar[Behaviour]
    BEHAVIOUR_GUARDS: _ClassVar[Behaviour]
    BEHAVIOUR_PATROLS: _ClassVar[Behaviour]
    BEHAVIOUR_WANDERS: _ClassVar[Behaviour]
VIEW_UNSPECIFIED: View
VIEW_PLAYER: View
FLOOR_KIND_UNSPECIFIED: FloorKind
FLOOR_KIND_STANDARD: FloorKind
FLOOR_KIND_KEEP: FloorKind
FLOOR_KIND_HALLS: FloorKind
FLOOR_KIND_CAVERN: FloorKind
FLOOR_KIND_CYCLIC: FloorKind
FLOOR_KIND_MAZE: FloorKind
FLOOR_KIND_BOSS: FloorKind
FLOOR_KIND_EVENT: FloorKind
FLOOR_KIND_STORY: FloorKind
GRID_ENCODING_UNSPECIFIED: GridEncoding
GRID_ENCODING_UNIFORM: GridEncoding
GRID_ENCODING_RAW8: GridEncoding
GRID_ENCODING_PACKED: GridEncoding
GRID_ENCODING_RLE: GridEncoding
TERRAIN_UNSPECIFIED: Terrain
TERRAIN_WALL: Terrain
TERRAIN_FLOOR: Terrain
TERRAIN_DOOR: Terrain
TERRAIN_LOCKED_DOOR: Terrain
TERRAIN_SECRET_DOOR: Terrain
TERRAIN_STAIRS_UP: Terrain
TERRAIN_STAIRS_DOWN: Terrain
TERRAIN_SHALLOW_WATER: Terrain
TERRAIN_DEEP_WATER: Terrain
TERRAIN_LAVA: Terrain
TERRAIN_CHASM: Terrain
TERRAIN_BRIDGE: Terrain
TERRAIN_GRASS: Terrain
TERRAIN_RUBBLE: Terrain
TERRAIN_PILLAR: Terrain
ROOM_ROLE_UNSPECIFIED: RoomRole
ROOM_ROLE_ENTRY: RoomRole
ROOM_ROLE_EXIT: RoomRole
ROOM_ROLE_COMBAT: RoomRole
ROOM_ROLE_TREASURE: RoomRole
ROOM_ROLE_KEY: RoomRole
ROOM_ROLE_SHRINE: RoomRole
ROOM_ROLE_SHOP: RoomRole
ROOM_ROLE_BOSS: RoomRole
ROOM_ROLE_VAULT: RoomRole
ROOM_ROLE_SECRET: RoomRole
ROOM_ROLE_PASSAGE: RoomRole
BEHAVIOUR_UNSPECIFIED: Behaviour
BEHAVIOUR_SLEEPS: Behaviour
BEHAVIOUR_GUARDS: Behaviour
BEHAVIOUR_PATROLS: Behaviour
BEHAVIOUR_WANDERS: Behaviour

class FloorSpec(_message.Message):
    __slots__ = ("seed", "number", "width", "height", "kind", "pack", "view")
    SEED_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PACK_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    seed: int
    number: int
    width: int
    height: int
    kind: FloorKind
    pack: str
    view: View
    def __init__(self, seed: _Optional[int] = ..., number: _Optional[int] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., kind: _Optional[_Union[FloorKind, str]] = ..., pack: _Optional[str] = ..., view: _Optional[_Union[View, str]] = ...) -> None: ...

class GetFloorRequest(_message.Message):
    __slots__ = ("spec",)
    SPEC_FIELD_NUMBER: _ClassVar[int]
    spec: FloorSpec
    def __init__(self, spec: _Optional[_Union[FloorSpec, _Mapping]] = ...) -> None: ...

class BatchGetFloorsRequest(_message.Message):
    __slots__ = ("specs",)
    SPECS_FIELD_NUMBER: _ClassVar[int]
    specs: _containers.RepeatedCompositeFieldContainer[FloorSpec]
    def __init__(self, specs: _Optional[_Iterable[_Union[FloorSpec, _Mapping]]] = ...) -> None: ...

class BatchGetFloorsResponse(_message.Message):
    __slots__ = ("floors",)
    FLOORS_FIELD_NUMBER: _ClassVar[int]
    floors: _containers.RepeatedCompositeFieldContainer[Floor]
    def __init__(self, floors: _Optional[_Iterable[_Union[Floor, _Mapping]]] = ...) -> None: ...

class StreamFloorsRequest(_message.Message):
    __slots__ = ("first", "count")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    first: FloorSpec
    count: int
    def __init__(self, first: _Optional[_Union[FloorSpec, _Mapping]] = ..., count: _Optional[int] = ...) -> None: ...

class SearchFloorsRequest(_message.Message):
    __slots__ = ("first", "count", "condition", "seeds", "skip", "limit")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    SEEDS_FIELD_NUMBER: _ClassVar[int]
    SKIP_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    first: FloorSpec
    count: int
    condition: str
    seeds: _containers.RepeatedScalarFieldContainer[int]
    skip: int
    limit: int
    def __init__(self, first: _Optional[_Union[FloorSpec, _Mapping]] = ..., count: _Optional[int] = ..., condition: _Optional[str] = ..., seeds: _Optional[_Iterable[int]] = ..., skip: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class SearchFloorsResponse(_message.Message):
    __slots__ = ("matches", "next")
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    matches: _containers.RepeatedCompositeFieldContainer[FloorMatch]
    next: int
    def __init__(self, matches: _Optional[_Iterable[_Union[FloorMatch, _Mapping]]] = ..., next: _Optional[int] = ...) -> None: ...

class FloorMatch(_message.Message):
    __slots__ = ("spec", "name")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    spec: FloorSpec
    name: Text
    def __init__(self, spec: _Optional[_Union[FloorSpec, _Mapping]] = ..., name: _Optional[_Union[Text, _Mapping]] = ...) -> None: ...

class Floor(_message.Message):
    __slots__ = ("spec", "generator_version", "content_hash", "terrain", "region", "entry", "exit", "rooms", "connections", "spawns", "items", "locks", "metrics", "traps", "theme", "pack_hash", "landing", "name", "hook", "landmark", "furniture")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    GENERATOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    TERRAIN_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    EXIT_FIELD_NUMBER: _ClassVar[int]
    ROOMS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    SPAWNS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    LOCKS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    TRAPS_FIELD_NUMBER: _ClassVar[int]
    THEME_FIELD_NUMBER: _ClassVar[int]
    PACK_HASH_FIELD_NUMBER: _ClassVar[int]
    LANDING_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    HOOK_FIELD_NUMBER: _ClassVar[int]
    LANDMARK_FIELD_NUMBER: _ClassVar[int]
    FURNITURE_FIELD_NUMBER: _ClassVar[int]
    spec: FloorSpec
    generator_version: int
    content_hash: int
    terrain: Grid
    region: Grid
    entry: Point
    exit: Point
    rooms: _containers.RepeatedCompositeFieldContainer[Room]
    connections: _containers.RepeatedCompositeFieldContainer[Connection]
    spawns: _containers.RepeatedCompositeFieldContainer[Spawn]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    locks: _containers.RepeatedCompositeFieldContainer[Lock]
    metrics: FloorMetrics
    traps: _containers.RepeatedCompositeFieldContainer[Trap]
    theme: str
    pack_hash: int
    landing: Point
    name: Text
    hook: Text
    landmark: int
    furniture: _containers.RepeatedCompositeFieldContainer[Furniture]
    def __init__(self, spec: _Optional[_Union[FloorSpec, _Mapping]] = ..., generator_version: _Optional[int] = ..., content_hash: _Optional[int] = ..., terrain: _Optional[_Union[Grid, _Mapping]] = ..., region: _Optional[_Union[Grid, _Mapping]] = ..., entry: _Optional[_Union[Point, _Mapping]] = ..., exit: _Optional[_Union[Point, _Mapping]] = ..., rooms: _Optional[_Iterable[_Union[Room, _Mapping]]] = ..., connections: _Optional[_Iterable[_Union[Connection, _Mapping]]] = ..., spawns: _Optional[_Iterable[_Union[Spawn, _Mapping]]] = ..., items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ..., locks: _Optional[_Iterable[_Union[Lock, _Mapping]]] = ..., metrics: _Optional[_Union[FloorMetrics, _Mapping]] = ..., traps: _Optional[_Iterable[_Union[Trap, _Mapping]]] = ..., theme: _Optional[str] = ..., pack_hash: _Optional[int] = ..., landing: _Optional[_Union[Point, _Mapping]] = ..., name: _Optional[_Union[Text, _Mapping]] = ..., hook: _Optional[_Union[Text, _Mapping]] = ..., landmark: _Optional[int] = ..., furniture: _Optional[_Iterable[_Union[Furniture, _Mapping]]] = ...) -> None: ...

class Text(_message.Message):
    __slots__ = ("text", "id", "parts")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    text: str
    id: str
    parts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, text: _Optional[str] = ..., id: _Optional[str] = ..., parts: _Optional[_Iterable[str]] = ...) -> None: ...

class Furniture(_message.Message):
    __slots__ = ("archetype", "cells")
    ARCHETYPE_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    archetype: str
    cells: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, archetype: _Optional[str] = ..., cells: _Optional[_Iterable[int]] = ...) -> None: ...

class Grid(_message.Message):
    __slots__ = ("width", "height", "palette", "encoding", "bits", "data")
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    PALETTE_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    BITS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    width: int
    height: int
    palette: _containers.RepeatedScalarFieldContainer[int]
    encoding: GridEncoding
    bits: int
    data: bytes
    def __init__(self, width: _Optional[int] = ..., height: _Optional[int] = ..., palette: _Optional[_Iterable[int]] = ..., encoding: _Optional[_Union[GridEncoding, str]] = ..., bits: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class Point(_message.Message):
    __slots__ = ("x", "y")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    x: int
    y: int
    def __init__(self, x: _Optional[int] = ..., y: _Optional[int] = ...) -> None: ...

class Room(_message.Message):
    __slots__ = ("id", "min", "max", "role", "center", "name")
    ID_FIELD_NUMBER: _ClassVar[int]
    MIN_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CENTER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    id: int
    min: Point
    max: Point
    role: RoomRole
    center: Point
    name: Text
    def __init__(self, id: _Optional[int] = ..., min: _Optional[_Union[Point, _Mapping]] = ..., max: _Optional[_Union[Point, _Mapping]] = ..., role: _Optional[_Union[RoomRole, str]] = ..., center: _Optional[_Union[Point, _Mapping]] = ..., name: _Optional[_Union[Text, _Mapping]] = ...) -> None: ...

class Connection(_message.Message):
    __slots__ = ("from_room", "to_room", "lock_id", "secret")
    FROM_ROOM_FIELD_NUMBER: _ClassVar[int]
    TO_ROOM_FIELD_NUMBER: _ClassVar[int]
    LOCK_ID_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    from_room: int
    to_room: int
    lock_id: int
    secret: bool
    def __init__(self, from_room: _Optional[int] = ..., to_room: _Optional[int] = ..., lock_id: _Optional[int] = ..., secret: bool = ...) -> None: ...

class Spawn(_message.Message):
    __slots__ = ("at", "archetype", "level", "behaviour", "group")
    AT_FIELD_NUMBER: _ClassVar[int]
    ARCHETYPE_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    BEHAVIOUR_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    at: Point
    archetype: str
    level: int
    behaviour: Behaviour
    group: int
    def __init__(self, at: _Optional[_Union[Point, _Mapping]] = ..., archetype: _Optional[str] = ..., level: _Optional[int] = ..., behaviour: _Optional[_Union[Behaviour, str]] = ..., group: _Optional[int] = ...) -> None: ...

class Item(_message.Message):
    __slots__ = ("at", "archetype", "value", "opens_lock")
    AT_FIELD_NUMBER: _ClassVar[int]
    ARCHETYPE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    OPENS_LOCK_FIELD_NUMBER: _ClassVar[int]
    at: Point
    archetype: str
    value: int
    opens_lock: int
    def __init__(self, at: _Optional[_Union[Point, _Mapping]] = ..., archetype: _Optional[str] = ..., value: _Optional[int] = ..., opens_lock: _Optional[int] = ...) -> None: ...

class Lock(_message.Message):
    __slots__ = ("id", "at")
    ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    id: int
    at: Point
    def __init__(self, id: _Optional[int] = ..., at: _Optional[_Union[Point, _Mapping]] = ...) -> None: ...

class Trap(_message.Message):
    __slots__ = ("at", "archetype", "level")
    AT_FIELD_NUMBER: _ClassVar[int]
    ARCHETYPE_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    at: Point
    archetype: str
    level: int
    def __init__(self, at: _Optional[_Union[Point, _Mapping]] = ..., archetype: _Optional[str] = ..., level: _Optional[int] = ...) -> None: ...

class GetServerInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ServerInfo(_message.Message):
    __slots__ = ("version", "generator_version", "kinds", "max_batch", "max_stream", "uptime_seconds", "tiers", "receipt_keys")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    GENERATOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_FIELD_NUMBER: _ClassVar[int]
    MAX_STREAM_FIELD_NUMBER: _ClassVar[int]
    UPTIME_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TIERS_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_KEYS_FIELD_NUMBER: _ClassVar[int]
    version: str
    generator_version: int
    kinds: _containers.RepeatedScalarFieldContainer[FloorKind]
    max_batch: int
    max_stream: int
    uptime_seconds: int
    tiers: _containers.RepeatedCompositeFieldContainer[TierInfo]
    receipt_keys: _containers.RepeatedCompositeFieldContainer[ReceiptKey]
    def __init__(self, version: _Optional[str] = ..., generator_version: _Optional[int] = ..., kinds: _Optional[_Iterable[_Union[FloorKind, str]]] = ..., max_batch: _Optional[int] = ..., max_stream: _Optional[int] = ..., uptime_seconds: _Optional[int] = ..., tiers: _Optional[_Iterable[_Union[TierInfo, _Mapping]]] = ..., receipt_keys: _Optional[_Iterable[_Union[ReceiptKey, _Mapping]]] = ...) -> None: ...

class ReceiptKey(_message.Message):
    __slots__ = ("id", "public_key")
    ID_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    id: int
    public_key: bytes
    def __init__(self, id: _Optional[int] = ..., public_key: _Optional[bytes] = ...) -> None: ...

class StartClimbRequest(_message.Message):
    __slots__ = ("tower", "width", "height", "pack", "player")
    TOWER_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    PACK_FIELD_NUMBER: _ClassVar[int]
    PLAYER_FIELD_NUMBER: _ClassVar[int]
    tower: str
    width: int
    height: int
    pack: str
    player: str
    def __init__(self, tower: _Optional[str] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., pack: _Optional[str] = ..., player: _Optional[str] = ...) -> None: ...

class SubmitFloorRequest(_message.Message):
    __slots__ = ("receipt", "acts")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    ACTS_FIELD_NUMBER: _ClassVar[int]
    receipt: Receipt
    acts: bytes
    def __init__(self, receipt: _Optional[_Union[Receipt, _Mapping]] = ..., acts: _Optional[bytes] = ...) -> None: ...

class ClimbFloor(_message.Message):
    __slots__ = ("receipt", "floor", "rolls")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    FLOOR_FIELD_NUMBER: _ClassVar[int]
    ROLLS_FIELD_NUMBER: _ClassVar[int]
    receipt: Receipt
    floor: Floor
    rolls: bytes
    def __init__(self, receipt: _Optional[_Union[Receipt, _Mapping]] = ..., floor: _Optional[_Union[Floor, _Mapping]] = ..., rolls: _Optional[bytes] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("climb", "signature", "key")
    CLIMB_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    climb: bytes
    signature: bytes
    key: int
    def __init__(self, climb: _Optional[bytes] = ..., signature: _Optional[bytes] = ..., key: _Optional[int] = ...) -> None: ...

class Climb(_message.Message):
    __slots__ = ("tower", "floor", "width", "height", "pack", "generator_version", "rules_version", "tenant", "player", "hero", "started_ms", "reached_ms", "acts_hash")
    TOWER_FIELD_NUMBER: _ClassVar[int]
    FLOOR_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    PACK_FIELD_NUMBER: _ClassVar[int]
    GENERATOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    RULES_VERSION_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PLAYER_FIELD_NUMBER: _ClassVar[int]
    HERO_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    REACHED_MS_FIELD_NUMBER: _ClassVar[int]
    ACTS_HASH_FIELD_NUMBER: _ClassVar[int]
    tower: str
    floor: int
    width: int
    height: int
    pack: str
    generator_version: int
    rules_version: int
    tenant: str
    player: str
    hero: Hero
    started_ms: int
    reached_ms: int
    acts_hash: bytes
    def __init__(self, tower: _Optional[str] = ..., floor: _Optional[int] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., pack: _Optional[str] = ..., generator_version: _Optional[int] = ..., rules_version: _Optional[int] = ..., tenant: _Optional[str] = ..., player: _Optional[str] = ..., hero: _Optional[_Union[Hero, _Mapping]] = ..., started_ms: _Optional[int] = ..., reached_ms: _Optional[int] = ..., acts_hash: _Optional[bytes] = ...) -> None: ...

class Hero(_message.Message):
    __slots__ = ("health", "most_health", "attack", "armour", "gold", "potions", "slain", "turns")
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    MOST_HEALTH_FIELD_NUMBER: _ClassVar[int]
    ATTACK_FIELD_NUMBER: _ClassVar[int]
    ARMOUR_FIELD_NUMBER: _ClassVar[int]
    GOLD_FIELD_NUMBER: _ClassVar[int]
    POTIONS_FIELD_NUMBER: _ClassVar[int]
    SLAIN_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    health: int
    most_health: int
    attack: int
    armour: int
    gold: int
    potions: int
    slain: int
    turns: int
    def __init__(self, health: _Optional[int] = ..., most_health: _Optional[int] = ..., attack: _Optional[int] = ..., armour: _Optional[int] = ..., gold: _Optional[int] = ..., potions: _Optional[int] = ..., slain: _Optional[int] = ..., turns: _Optional[int] = ...) -> None: ...

class GetDailyRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Daily(_message.Message):
    __slots__ = ("tower", "date", "seconds_left", "pack", "generator_version", "rules_version", "width", "height")
    TOWER_FIELD_NUMBER: _ClassVar[int]
    DATE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_LEFT_FIELD_NUMBER: _ClassVar[int]
    PACK_FIELD_NUMBER: _ClassVar[int]
    GENERATOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    RULES_VERSION_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    tower: str
    date: str
    seconds_left: int
    pack: str
    generator_version: int
    rules_version: int
    width: int
    height: int
    def __init__(self, tower: _Optional[str] = ..., date: _Optional[str] = ..., seconds_left: _Optional[int] = ..., pack: _Optional[str] = ..., generator_version: _Optional[int] = ..., rules_version: _Optional[int] = ..., width: _Optional[int] = ..., height: _Optional[int] = ...) -> None: ...

class GetPackRequest(_message.Message):
    __slots__ = ("pack",)
    PACK_FIELD_NUMBER: _ClassVar[int]
    pack: str
    def __init__(self, pack: _Optional[str] = ...) -> None: ...

class Pack(_message.Message):
    __slots__ = ("name", "hash", "generator_version", "file")
    NAME_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    GENERATOR_VERSION_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    name: str
    hash: int
    generator_version: int
    file: bytes
    def __init__(self, name: _Optional[str] = ..., hash: _Optional[int] = ..., generator_version: _Optional[int] = ..., file: _Optional[bytes] = ...) -> None: ...

class ListPacksRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListPacksResponse(_message.Message):
    __slots__ = ("packs",)
    PACKS_FIELD_NUMBER: _ClassVar[int]
    packs: _containers.RepeatedCompositeFieldContainer[PackInfo]
    def __init__(self, packs: _Optional[_Iterable[_Union[PackInfo, _Mapping]]] = ...) -> None: ...

class PackInfo(_message.Message):
    __slots__ = ("name", "hash", "current", "description", "floors_authored")
    NAME_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    FLOORS_AUTHORED_FIELD_NUMBER: _ClassVar[int]
    name: str
    hash: int
    current: bool
    description: str
    floors_authored: int
    def __init__(self, name: _Optional[str] = ..., hash: _Optional[int] = ..., current: bool = ..., description: _Optional[str] = ..., floors_authored: _Optional[int] = ...) -> None: ...

class TierInfo(_message.Message):
    __slots__ = ("name", "hits", "misses", "errors", "bypasses", "entries", "bytes", "hit_cost_us", "miss_cost_us", "verdict", "hit_ratio", "generation_cost_us", "verdict_seconds", "probe_cost_us", "asked_ratio", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    MISSES_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    BYPASSES_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    HIT_COST_US_FIELD_NUMBER: _ClassVar[int]
    MISS_COST_US_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    HIT_RATIO_FIELD_NUMBER: _ClassVar[int]
    GENERATION_COST_US_FIELD_NUMBER: _ClassVar[int]
    VERDICT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    PROBE_COST_US_FIELD_NUMBER: _ClassVar[int]
    ASKED_RATIO_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    hits: int
    misses: int
    errors: int
    bypasses: int
    entries: int
    bytes: int
    hit_cost_us: float
    miss_cost_us: float
    verdict: str
    hit_ratio: float
    generation_cost_us: float
    verdict_seconds: int
    probe_cost_us: float
    asked_ratio: float
    reason: str
    def __init__(self, name: _Optional[str] = ..., hits: _Optional[int] = ..., misses: _Optional[int] = ..., errors: _Optional[int] = ..., bypasses: _Optional[int] = ..., entries: _Optional[int] = ..., bytes: _Optional[int] = ..., hit_cost_us: _Optional[float] = ..., miss_cost_us: _Optional[float] = ..., verdict: _Optional[str] = ..., hit_ratio: _Optional[float] = ..., generation_cost_us: _Optional[float] = ..., verdict_seconds: _Optional[int] = ..., probe_cost_us: _Optional[float] = ..., asked_ratio: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class FloorMetrics(_message.Message):
    __slots__ = ("critical_path", "passable_cells", "loops", "difficulty")
    CRITICAL_PATH_FIELD_NUMBER: _ClassVar[int]
    PASSABLE_CELLS_FIELD_NUMBER: _ClassVar[int]
    LOOPS_FIELD_NUMBER: _ClassVar[int]
    DIFFICULTY_FIELD_NUMBER: _ClassVar[int]
    critical_path: int
    passable_cells: int
    loops: int
    difficulty: int
    def __init__(self, critical_path: _Optional[int] = ..., passable_cells: _Optional[int] = ..., loops: _Optional[int] = ..., difficulty: _Optional[int] = ...) -> None: ...
