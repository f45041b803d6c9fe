import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EntryBody } from '../../src/core/log.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { createMemoryStore, createSession, openSession } from '../../src/sessions/index.ts'
import { createSnapshots, type SnapshotsOptions } from '../../src/snapshots/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { readFile as readFileTool, shell, writeFile as writeFileTool } from '../../src/tools/index.ts'
import { temporary } from '../temporary.ts'

export const run = (id: string, command: string) => [call(id, 'shell', { command })]
export const write = (id: string, path: string, content: string) => [call(id, 'write_file', { path, content })]

/** A folder, a session and an agent that works there. */
export async function desk(replies: Parameters<typeof scripted>, more: Partial<SnapshotsOptions> = {}) {
  const folder = await temporary('desk-')
  const execution = more.execution ?? createProcessContext({ cwd: folder })
  const kept = await temporary('snapshots-')
  const snapshots = createSnapshots({ execution, store: kept, ...more })
  const store = createMemoryStore()
  const session = await createSession({ store, id: 'one' })
  const tools = { shell, write_file: writeFileTool, read_file: readFileTool }
  const agent = createAgent({
    ...{ provider: scripted(...replies), session, execution, tools },
    extensions: [snapshots.extension],
  })
  const put = (name: string, text: string): void => {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const read = (name: string): string | undefined =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined
  /** The number of the entry before a message of the person. */
  const seqBefore = async (text: string): Promise<number> => {
    for await (const entry of session.entries())
      if (entry.type === 'turn' && JSON.stringify(entry.turn.content).includes(text)) return entry.seq - 1
    throw new Error(`nothing was said like ${text}`)
  }
  const said = (): string[] => session.turns.map(({ content }) => (content[0]?.type === 'text' ? content[0].text : '…'))
  const notes = async () => {
    const found: string[] = []
    for await (const entry of session.entries())
      if (entry.type === 'state' && entry.owner === 'snapshot')
        found.push(
          Object.values(entry.value as object)
            .join()
            .split(',')[0]!,
        )
    return found
  }
  /** The session as a process leaves it that is killed after an entry. */
  const killedAfter = async (seq: number) => {
    const store = createMemoryStore()
    const dying = await createSession({ store, id: 'one' })
    await dying.open()
    for await (const { seq: _, id: __, at: ___, ...body } of session.entries({ before: seq + 1 }))
      await dying.log.append(body as EntryBody)
    return openSession(store, 'one', { takeOver: true })
  }
  return { folder, kept, execution, snapshots, store, session, agent, put, read, seqBefore, said, notes, killedAfter }
}
