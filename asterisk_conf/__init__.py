"""What an admin includes (`voicebot/`), and the rest of a complete Asterisk configuration."""

from pathlib import Path

CONF_DIR = Path(__file__).parent
