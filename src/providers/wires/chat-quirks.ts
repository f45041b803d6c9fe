import type { ThinkingLevel } from '../../core/thinking.ts'
import type { NameRule } from '../wire.ts'

/** Where services that speak "OpenAI" differ. What is left out is what an unknown one is most likely to take. */
export interface ChatQuirks {
  /** Default `system`. */
  readonly systemRole?: 'system' | 'developer'
  /** Default `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** How to say how long to think. Default `none`: it is not said. */
  readonly thinking?: ThinkingStyle
  /** For the styles `effort` and `openrouter`, where a level has another name; `off` has none unless it is given one. */
  readonly efforts?: Efforts
  /**
   * What is sent back of earlier thinking. `field`: its text, under the name it came with. `required`: as
   * `reasoning_content`, in every assistant message, be it empty. `details`: OpenRouter's `reasoning_details`, untouched.
   * Default `none`.
   */
  readonly reasoningReplay?: 'none' | 'field' | 'required' | 'details'
  /** Understands Anthropic's `cache_control`. Default false. */
  readonly cacheBreakpoints?: boolean
  /** The content of an assistant message that only calls. Default `null`. */
  readonly emptyContent?: 'null' | 'empty' | 'omit'
  /** Tool messages carry the name of the tool. Default false. */
  readonly toolNameOnResults?: boolean
  /** No user message may follow results directly. Default false. */
  readonly assistantAfterTool?: boolean
  /** Wants a list of tools, if only an empty one, as soon as a conversation holds calls. Default false. */
  readonly emptyTools?: boolean
  /** Default `none`. */
  readonly structuredOutput?: 'json_schema' | 'none'
  /** What ids of calls may look like. Default `chatIdRules.openai`. */
  readonly idRule?: NameRule
  /** Default 500. */
  readonly maxImages?: number
  /** Results may hold images; elsewhere they follow in a user message. Default false. */
  readonly imageInToolResult?: boolean
  /** Takes PDFs. Default false. */
  readonly documents?: boolean
  /** Asks for a count of tokens at the end of the stream. Default true. */
  readonly streamUsage?: boolean
  /** Does not count reasoning into `completion_tokens`. Default false. */
  readonly reasoningOutsideOutput?: boolean
  /** Sends the session's id as `prompt_cache_key`. Default false. */
  readonly promptCacheKey?: boolean
  /** Sent only when given. */
  readonly store?: boolean
  /** Sent only when given. */
  readonly includeObfuscation?: boolean
}

export type ThinkingStyle = 'none' | 'effort' | 'openrouter' | 'deepseek' | 'qwen' | 'qwen-template' | 'together'

type Efforts = { readonly [Level in Exclude<ThinkingLevel, 'adaptive'>]?: string }
