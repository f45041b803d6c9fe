export type {
  ChatAgent,
  ChatHost,
} from '../chat/chat.ts'
export type { ChatCommand } from '../chat/command.ts'
export { runTui, type TuiOptions } from './run-tui.ts'
