export {
  type Decoder,
  type Fields,
  RawJson,
  StreamError,
  type Wire,
  type WireError,
  type WireItem,
  type WireRules,
} from '../wire.ts'
export { anthropicMessages } from './anthropic-messages.ts'
export { gemini } from './gemini.ts'
export { type ChatQuirks, openaiChat } from './openai-chat.ts'
export { openaiResponses, type ResponsesQuirks } from './openai-responses.ts'
