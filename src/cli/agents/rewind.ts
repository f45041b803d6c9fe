import { fullyVisible } from '../../platform/visible-text.ts'
import type { AgentInstanceMessage, UserContent } from '../../plugins/message.ts'
import { formatCount } from '../../tui/rows/format.ts'
import { exitCodes } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../text.ts'
import { confirm, requireTerminal } from './confirm.ts'
import { findTopLevelAgent, requireAgent, requireIdle } from './find-agent.ts'
import { findMessage } from './find-message.ts'
import { messageTitle } from './message-lines.ts'
import { withWorkflow } from './open-workflow.ts'

/** `libero agents rewind`: undoes a message and prints its text, so that it can be sent again. */
export async function rewind(
  { values, words }: Args<{ readonly yes?: boolean; readonly json?: boolean }>,
  io: Io,
): Promise<number> {
  const asked = requireAgent(words, 'agents rewind')
  if (!values.yes) requireTerminal(io, 'agents rewind asks before it undoes a message')
  return withWorkflow(io, async (opened) => {
    const { workflow } = opened
    const { id: agentId } = await findTopLevelAgent(opened, asked)
    await requireIdle(opened, agentId)
    const messages = await workflow.getMessages(agentId)
    const message = findMessage(messages, words[1], agentId)
    const after = messages.slice(messages.indexOf(message) + 1).filter(({ hidden }) => !hidden).length
    if (!values.yes) {
      io.err(messageTitle(message))
      if (!(await confirm(`Undo this message${withRest(after)}?`, io))) {
        io.err('Nothing was undone')
        return exitCodes.done
      }
    }
    const content = await workflow.rewind(agentId, message.id)
    if (values.json) io.out(jsonText({ agentId, messageId: message.id, content, removed: after + 1 }))
    else printUndone({ content, message, after, agentId }, io)
    return exitCodes.done
  })
}

function withRest(after: number): string {
  if (after === 0) return ''
  return after === 1 ? ' and the message after it' : ` and the ${formatCount(after)} messages after it`
}

interface Undone {
  readonly content: UserContent
  readonly message: AgentInstanceMessage
  readonly after: number
  readonly agentId: string
}

function printUndone({ content, message, after, agentId }: Undone, io: Io): void {
  const { text, file, wikiTiddlers = [] } = content
  const id = fullyVisible(agentId)
  if (text !== '') io.out(io.stdout.isTTY ? fullyVisible(text, { lines: 'kept' }) : text)
  io.err(`Undone: the message${withRest(after)}.`)
  const came = [
    ...(file ? [`--file ${JSON.stringify(file.name ?? file.mediaType)}`] : []),
    ...wikiTiddlers.map((page) => `--attach ${JSON.stringify(`${page.workspaceName}/${page.tiddlerTitle}`)}`),
  ]
  if (came.length > 0) io.err(`Its attachments: ${fullyVisible(came.join(' '))}`)
  io.err(`To send it again or another message: libero agents send ${id} "…"`)
  if (message.metadata?.beforeCommitMap)
    io.err(`Files were not changed; to restore them: libero agents rollback ${id} ${fullyVisible(message.id)}`)
}
