import type { ToolOutput, ToolResultContent } from '../../core/turn.ts'

/** What a call comes back with, as MCP has it. */
export interface CallAnswer {
  readonly content: readonly McpContent[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: true
}

type McpContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource'
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly blob: string }
    }

/** The output of a tool, block by block. */
export function toContent(output: ToolOutput): McpContent[] {
  if (typeof output === 'string') return [{ type: 'text', text: output }]
  return output.map(blockOf)
}

/** A failure that a model reads. */
export const refusal = (text: string): CallAnswer => ({ content: [{ type: 'text', text }], isError: true })

function blockOf(block: ToolResultContent): McpContent {
  if (block.type === 'text') return { type: 'text', text: block.text }
  const { data, mediaType: mimeType } = block
  if (block.type === 'image') return { type: 'image', data, mimeType }
  const uri = `document:${encodeURIComponent(block.name ?? 'document')}`
  return { type: 'resource', resource: { uri, mimeType, blob: data } }
}
