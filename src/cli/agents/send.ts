import { UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import type { WorkValues } from './agent-flags.ts'
import { checkPages } from './check-pages.ts'
import { findToSpeakTo, requireAgent } from './find-agent.ts'
import { type MessageValues, readMessage } from './read-message.ts'
import { workWithAgent } from './work-with-agent.ts'

interface Sending {
  readonly values: WorkValues & MessageValues & { readonly json?: boolean }
  readonly words: readonly string[]
}

/** `libero agents send`. */
export async function send({ values, words }: Sending, io: Io): Promise<number> {
  const asked = requireAgent(words, 'agents send')
  const content = await readMessage(words.slice(1), values, io)
  if (!content) throw new UsageError('agents send needs something to say, as in: libero agents send bafitu "thank you"')
  return workWithAgent({
    values,
    io,
    async begin({ workflow, knowledge }) {
      const { id } = await findToSpeakTo(workflow, asked)
      await checkPages(knowledge, content.wikiTiddlers)
      return { agentId: id, work: () => workflow.sendMsgToAgent(id, content) }
    },
  })
}
