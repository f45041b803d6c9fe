import type { Agent } from '../../core/agent.ts'
import { isRecord } from '../../core/is-record.ts'
import { cutText } from '../../core/text.ts'
import type { ToolOutput, ToolResultContent } from '../../core/turn.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { ServedAgent } from './served-agents.ts'

/** The result of a call in the form of MCP. */
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

/** An error for the model of the client. */
export const refusal = (text: string): CallAnswer => ({ content: [{ type: 'text', text }], isError: true })

/** The output of a tool, block by block. */
export function toContent(output: ToolOutput): McpContent[] {
  if (typeof output === 'string') return [{ type: 'text', text: output }]
  return output.map(blockOf)
}

function blockOf(block: ToolResultContent): McpContent {
  if (block.type === 'text') return { type: 'text', text: block.text }
  const { data, mediaType: mimeType } = block
  if (block.type === 'image') return { type: 'image', data, mimeType }
  const uri = `document:${encodeURIComponent(block.name ?? 'document')}`
  return { type: 'resource', resource: { uri, mimeType, blob: data } }
}

/** Tells the client what a suspended run waits for. */
export function missingPermission(served: ServedAgent, stopReason: string): string {
  if (stopReason !== 'permission-required')
    return `It stopped and waits: ${fullyVisible(stopReason)}. Nothing can be answered over MCP; call again with another task.`
  const { why, orElse } = reasonOf(served)
  return [
    `Not run: it needs a permission that was not given, because ${why}.`,
    ...openQuestions(served.agent),
    `To have it run, allow it by a rule of this server${orElse}.`,
  ].join('\n\n')
}

/** The current client may be another one than the agent was made for. */
function reasonOf({ canAsk, ask }: ServedAgent): { why: string; orElse: string } {
  if (ask && canAsk) return { why: 'your user could not be asked', orElse: '' }
  if (ask)
    return {
      why: 'this conversation was begun by a client that cannot ask its user',
      orElse: ', or leave out session to begin another one',
    }
  return {
    why: 'this client cannot ask its user (it has no elicitation)',
    orElse: ', or connect with a client that supports elicitation',
  }
}

function openQuestions({ log: { transcript } }: Agent): string[] {
  return transcript.openCalls.flatMap(({ id, name }) => {
    const approval = transcript.approvals.get(id)
    if (approval?.type !== 'approval_requested') return []
    const request = isRecord(approval.request) ? approval.request : {}
    const { description } = isRecord(request.payload) ? request.payload : request
    const text =
      typeof description === 'string' ? description : `${name}: ${approval.reason ?? 'it has to be approved'}`
    const shown = cutText(text, longest)
    return [fullyVisible(shown, { lines: 'kept' })]
  })
}

const longest = 4000
