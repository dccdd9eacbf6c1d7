"""Plain safetensors of a GGUF, with tokenizer and chat template: `python convert.py FILE.gguf FOLDER`.

Runs with the Python that has vLLM. vLLM itself reads GGUF for a GPU only.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main(gguf: Path, folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    packed = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    # saving it as it is fails: for transformers it stays a GGUF model
    plain = type(packed)(packed.config).to(torch.bfloat16)
    plain.load_state_dict(packed.state_dict())
    if hasattr(plain.config, "quantization_config"):
        del plain.config.quantization_config
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
