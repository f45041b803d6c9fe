import type { AgentInstanceMessage } from '../../plugins/message.ts'
import type { AgentInstance } from '../../workflow/definition.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../json-text.ts'
import { createPaint, hasColours } from '../screen/paint.ts'
import { findAgent, requireAgent } from './find-agent.ts'
import { messageLines } from './message-lines.ts'
import { type OpenedWorkflow, withWorkflow } from './open-workflow.ts'
import { untilUnread } from './until-unread.ts'
import { waitingLines } from './waiting-words.ts'

interface Watching {
  readonly values: { readonly full?: boolean; readonly json?: boolean }
  readonly words: readonly string[]
}

/** `libero agents watch`: what was said, and what is said from now on, whoever works on it. Until Ctrl-C. */
export async function watchAgent({ values, words }: Watching, io: Io): Promise<number> {
  const asked = requireAgent(words, 'agents watch')
  return withWorkflow(io, async (opened) => {
    const agent = await findAgent(opened.workflow, asked)
    const print = printer(values, io)
    const exitCode = await untilUnread(io, (signal) =>
      follow(opened, agent, { print, io, signal, isJson: values.json === true }),
    )
    return exitCode === exitCodes.interrupted ? exitCodes.done : exitCode
  })
}

interface Following {
  readonly print: (message: AgentInstanceMessage) => void
  readonly io: Io
  readonly signal: AbortSignal
  readonly isJson: boolean
}

async function follow(
  { workflow, store }: OpenedWorkflow,
  { id: agentId, isSubAgent }: AgentInstance,
  { print, io, signal, isJson }: Following,
): Promise<void> {
  const told = new Set<string>()
  const look = async (): Promise<void> => {
    for (const message of await workflow.getMessages(agentId)) print(message)
    // What a sub-agent waits for is asked by its parent.
    for (const call of isSubAgent ? [] : await workflow.pending(agentId)) {
      if (told.has(call.callId)) continue
      told.add(call.callId)
      if (!isJson) for (const line of waitingLines(call, agentId)) io.err(line)
    }
  }
  await look()
  try {
    for await (const _ of store.watch(agentId, { signal })) {
      if (signal.aborted) return
      await look()
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Each message once; as lines of JSON again whenever it changes. */
function printer(
  { full, json }: { readonly full?: boolean; readonly json?: boolean },
  io: Io,
): (message: AgentInstanceMessage) => void {
  const paint = createPaint({ colours: hasColours(io.stdout, io.env) })
  const seen = new Map<string, AgentInstanceMessage>()
  return (message) => {
    const before = seen.get(message.id)
    if (before === message || (before && !json)) return
    seen.set(message.id, message)
    if (json) io.out(JSON.stringify(JSON.parse(jsonText(message))))
    else for (const line of messageLines(message, { paint, cwd: io.cwd, isFull: full === true })) io.out(line)
  }
}
