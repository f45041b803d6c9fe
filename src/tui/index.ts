export type {
  AgentRequest,
  ChatAgent,
  ChatHost,
  ChatSettings,
  ChatState,
  ModelChoice,
  OpenRequest,
} from '../chat/chat.ts'
export type { ChatCommand, CommandContext, CommandScreen } from '../chat/command.ts'
export type { PromptPart } from '../core/turn.ts'
export type { StatusPart } from './dock/status-line.ts'
export type { ProcessEvents } from './process-events.ts'
export { runTui, type TuiOptions } from './run-tui.ts'
export type { TerminalStreams } from './terminal/output.ts'
export type { PaletteColour, Theme, ThemeName } from './terminal/theme.ts'
