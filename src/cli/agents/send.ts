import { didYouMean } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { agentPrefix } from '../../workflow/agent-instance.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { WorkValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { newSessionId } from '../sessions/session-id.ts'
import { findWorkingAgent, requireAgent } from './find-agent.ts'
import { type OpenedWorkflow, withWorkflow } from './open-workflow.ts'
import { checkPages, type MessageValues, readMessage } from './read-message.ts'
import { runAgent } from './run-agent.ts'

type SendValues = WorkValues & MessageValues & { readonly json?: boolean }

/** `libero agents send`. */
export async function send({ values, words }: Args<SendValues>, io: Io): Promise<number> {
  const asked = requireAgent(words, 'agents send')
  const content = await readMessage(words.slice(1), values, io)
  if (!content) throw new UsageError('agents send needs a message, as in: libero agents send bafitu "thank you"')
  return runAgent({
    values,
    io,
    async begin(opened) {
      const { id } = await findWorkingAgent(opened, asked)
      await checkPages(opened.knowledge, content.wikiTiddlers)
      return { agentId: id, work: () => opened.workflow.sendMsgToAgent(id, content) }
    },
  })
}

/** `libero agents new`. Without a message, the id goes to stdout for scripts. */
export async function create(
  { values, words }: Args<SendValues & { readonly name?: string }>,
  io: Io,
): Promise<number> {
  const [definitionId, ...rest] = words
  if (definitionId === undefined || definitionId === '')
    throw new UsageError('agents new needs a definition; libero agents definitions lists them')
  const hasMessage = rest.length > 0 || values.file !== undefined || values.attach !== undefined
  const content = hasMessage ? await readMessage(rest, values, io) : undefined
  if (!content)
    return withWorkflow(io, async (opened) => {
      const id = await createAgent(opened, definitionId, values.name)
      io.out(values.json ? JSON.stringify({ agentId: id }) : id)
      return exitCodes.done
    })
  return runAgent({
    values,
    io,
    async begin(opened) {
      await checkPages(opened.knowledge, content.wikiTiddlers)
      const agentId = await createAgent(opened, definitionId, values.name)
      return { agentId, work: () => opened.workflow.sendMsgToAgent(agentId, content) }
    },
  })
}

async function createAgent(
  { workflow, definitions }: OpenedWorkflow,
  id: string,
  name: string | undefined,
): Promise<string> {
  const known = definitions.found.map(({ definition }) => definition.id)
  if (!known.includes(id)) {
    const why = definitions.problems.length > 0 ? `; for invalid files see: libero agents definitions` : ''
    throw new CliError(
      `There is no definition "${fullyVisible(id.slice(0, 100))}"${didYouMean(id, known) || `; there are ${known.join(', ')}`}${why}`,
    )
  }
  const agentId = `${agentPrefix}${newSessionId()}`
  return (await workflow.createAgent(id, { id: agentId, ...(name && { name }) })).id
}
