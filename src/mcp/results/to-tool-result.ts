import { isRecord } from '../../core/is-record.ts'
import type { ToolOutput, ToolResultContent } from '../../core/turn.ts'
import { canonicalJson } from '../../platform/canonical-json.ts'
import { withoutHidden } from '../../platform/visible-text.ts'
import { headOf, tailOf } from '../definitions/shortened.ts'
import { withoutPrototypeKeys } from '../definitions/untrusted-json.ts'
import { type FoundBlock, readBlock } from './read-block.ts'

export interface McpToolResult {
  readonly output: ToolOutput
  readonly isError: boolean
  /** For screens: where it came from, `structuredContent` as far as it can be kept, and what was taken out. */
  readonly details?: unknown
}

/**
 * What a server answered to a call, as a result of a tool. Whatever it is, it becomes one: text is text, bounded and
 * without invisible characters; images are what their bytes say; links are never followed.
 */
export function toToolResult(result: unknown, from: { readonly server: string; readonly tool: string }): McpToolResult {
  const { server, tool } = from
  if (!isResult(result))
    return {
      output: `The MCP server "${server}" gave no result for the tool "${tool}", but something that is none. It may have done what was asked; look before you try again.`,
      isError: true,
      details: { server, tool },
    }
  const all = Array.isArray(result.content) ? (result.content as readonly unknown[]) : []
  const blocks = all.slice(0, resultLimits.blocks)
  const found = blocks.map(readBlock)
  if (all.length > resultLimits.blocks)
    found.push({ text: `[${all.length - resultLimits.blocks} more blocks left out]`, hidden: 0 })
  const structured = readStructured(result.structuredContent)
  if (structured && !isSaid(structured.json, blocks)) found.push(withoutHidden(structured.json))

  const hidden = found.reduce((sum, one) => sum + one.hidden, 0)
  const parts = shortenTexts(withoutExcess(found, resultLimits.images), resultLimits.textBytes)
  if (hidden > 0) parts.push({ type: 'text', text: `[${hidden} invisible characters were taken out]` })
  const isKept = structured?.value !== undefined && structured.json.length <= resultLimits.textBytes
  return {
    output: outputOf(parts),
    isError: result.isError === true,
    details: { server, tool, ...(isKept && { structuredContent: structured.value }), ...(hidden > 0 && { hidden }) },
  }
}

function isResult(result: unknown): result is Record<string, unknown> {
  if (!isRecord(result)) return false
  return Array.isArray(result.content) || (result.content === undefined && result.structuredContent !== undefined)
}

/** A copy that can be kept, and the same as text; with `null` a server may well mean something. */
function readStructured(value: unknown): { readonly value: unknown; readonly json: string } | undefined {
  if (value === undefined) return undefined
  const leftOut = { value: undefined, json: '[structured content left out: it is too large or too deep]' }
  return withoutPrototypeKeys(value) ?? leftOut
}

/** Servers are asked to repeat structured content as text. */
function isSaid(json: string, blocks: readonly unknown[]): boolean {
  const wanted = canonicalJson(readJson(json))
  return blocks.some((block) => {
    if (!isRecord(block) || block.type !== 'text' || typeof block.text !== 'string') return false
    const said = withoutPrototypeKeys(readJson(block.text))
    return said !== undefined && canonicalJson(said.value) === wanted
  })
}

/** A text that is no JSON stands for itself. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function withoutExcess(found: readonly FoundBlock[], mostImages: number): ToolResultContent[] {
  let images = 0
  return found.flatMap(({ text, image }): ToolResultContent[] => {
    const parts: ToolResultContent[] = text === '' ? [] : [{ type: 'text', text }]
    if (!image) return parts
    images++
    if (images <= mostImages) return [...parts, image]
    return [...parts, { type: 'text', text: `[image ${images} left out: ${mostImages} are allowed in one result]` }]
  })
}

function outputOf(parts: readonly ToolResultContent[]): ToolOutput {
  if (parts.length === 0) return '(no output)'
  const texts = parts.flatMap((part) => (part.type === 'text' ? part.text : []))
  return texts.length === parts.length ? texts.join('\n') : parts
}

/** How much of a server's answer reaches a model. */
export const resultLimits = { textBytes: 256 * 1024, images: 20, blocks: 1000 }

/** The same parts with at most so many bytes of text: the beginning, a mark that says how much is missing, and the end. */
export function shortenTexts(parts: readonly ToolResultContent[], most: number): ToolResultContent[] {
  const sizes = parts.map((part) => (part.type === 'text' ? Buffer.byteLength(part.text) : 0))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total <= most) return [...parts]
  const tailFrom = total - Math.floor(most / 4)
  const headTo = most - Math.floor(most / 4)
  const mark = `[… ${total - most} of ${total} bytes of text left out here …]`
  let isMarked = false
  let at = 0
  return parts.flatMap((part, i): ToolResultContent[] => {
    if (part.type !== 'text') return [part]
    const from = at
    at += sizes[i]!
    if (at <= headTo || from >= tailFrom) return [part]
    const head = from < headTo ? headOf(part.text, headTo - from) : ''
    const tail = at > tailFrom ? tailOf(part.text, at - tailFrom) : ''
    const shown = [head, isMarked ? '' : mark, tail].filter((text) => text !== '')
    isMarked = true
    return shown.length === 0 ? [] : [{ type: 'text', text: shown.join('\n') }]
  })
}
