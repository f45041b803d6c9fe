import type { ModelReply } from '../../core/provider.ts'
import type { TurnUsage } from '../../core/turn.ts'
import { countOf } from './counts.ts'
import { withOwn } from './own-data.ts'

export const wireName = 'anthropic-messages'

/** What stands before the data of hidden thinking: the conversation format has no block of its own for it. */
export const redacted = 'redacted_thinking:'

/** A block as far as it was heard. */
export interface Block {
  readonly kind: string
  readonly id: string
  /** What it says, or the text of its input. */
  text: string
  raw: RawBlock
  signature?: string | undefined
  citations?: readonly unknown[]
}

export interface RawBlock {
  readonly type: string
  readonly id?: unknown
  readonly name?: unknown
  readonly text?: unknown
  readonly thinking?: unknown
  readonly signature?: string
  readonly input?: object
  readonly data?: unknown
  readonly citations?: unknown
  readonly caller?: unknown
  readonly toolset_name?: unknown
}

/** What a block is in our words. */
export function contentOf(block: Block): ModelReply['content'][number] {
  const { kind, text, raw, signature, citations } = block
  switch (kind) {
    case 'text':
      return { type: 'text', text, ...(citations && withOwn(wireName, { citations })) }
    case 'thinking':
      return { type: 'thinking', text, ...(signature !== undefined && { signature }) }
    case 'redacted_thinking':
      return { type: 'thinking', text: '', signature: `${redacted}${String(raw.data)}` }
    case 'tool_use': {
      const { caller, toolset_name } = raw
      const more = { ...(caller !== undefined && { caller }), ...(toolset_name !== undefined && { toolset_name }) }
      const extra = Object.keys(more).length > 0 && withOwn(wireName, more)
      return {
        type: 'tool_call',
        id: block.id,
        name: String(raw.name ?? ''),
        input: text === '' ? '{}' : text,
        ...extra,
      }
    }
    default: {
      // The service runs such a block itself and wants it back as it was.
      const whole = text === '' ? raw : { ...raw, input: parsed(text) }
      return { type: 'text', text: '', ...withOwn(wireName, { block: whole }) }
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** The counts of the service; `input_tokens` is without what the cache had. */
export function usageOf(usage: RawUsage): TurnUsage {
  const cacheRead = countOf(usage.cache_read_input_tokens)
  const cacheCreation = countOf(usage.cache_creation_input_tokens)
  return {
    input: total(usage, 'input_tokens'),
    output: total(usage, 'output_tokens'),
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheCreation !== undefined && { cacheCreation }),
  }
}

/** What the service spends on summing up the conversation is told only step by step. */
function total(usage: RawUsage, name: 'input_tokens' | 'output_tokens'): number {
  const steps = Array.isArray(usage.iterations) ? (usage.iterations as readonly (Iteration | null)[]) : []
  const own = steps.filter((step) => step?.type === 'message' || step?.type === 'compaction')
  // Another model answered: its steps are another matter, and counted in the sum.
  const isElsewhere = steps.some((step) => step?.type === 'fallback_message')
  if (own.length === 0 || isElsewhere) return countOf(usage[name]) ?? 0
  return own.reduce((sum, step) => sum + (countOf(step![name]) ?? 0), 0)
}

export interface RawUsage {
  input_tokens?: unknown
  output_tokens?: unknown
  cache_read_input_tokens?: unknown
  cache_creation_input_tokens?: unknown
  cache_creation?: { readonly ephemeral_1h_input_tokens?: unknown }
  iterations?: unknown
}

interface Iteration {
  readonly type?: unknown
  readonly input_tokens?: unknown
  readonly output_tokens?: unknown
}
