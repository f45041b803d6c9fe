import { createAgent, createProcessContext, createSession, createSqliteStore, loadSession } from '../../src/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { multiEdit } from '../../src/tools/index.ts'

/** A person allows three edits, or denies one of them. The process dies before the call begins, or when the file is written. */
const [folder = '', phase = '', extent = ''] = process.argv.slice(2)

const isResumed = phase === 'resumed'
const store = createSqliteStore({ path: `${folder}/s.db` })
const session = isResumed ? await loadSession(store, 's') : await createSession({ store, id: 's' })
const die = (): never => {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('not dead')
}
const edits = [
  ['one', '1'],
  ['two', '2'],
  ['three', '3'],
].map(([old_string, new_string]) => ({ old_string, new_string }))
const answer = { edits: [{ decision: 'allow' }, { decision: 'deny', note: 'keep it' }, { decision: 'allow' }] }
const agent = createAgent({
  provider: scripted(...(isResumed ? [] : [[call('1', 'multi_edit', { path: 'a.txt', edits })]]), 'Done.'),
  session,
  execution: createProcessContext({ cwd: `${folder}/work` }),
  tools: { multiEdit },
  authority: {
    mode: 'ask',
    workspaceReads: 'allow',
    home: `${folder}/home`,
    interactors: isResumed ? [] : [() => (extent === 'all' ? true : answer)],
  },
  hooks: isResumed ? {} : phase === 'answered' ? { 'tool:decision': die } : { 'tool:transform': die },
})
const { status } = await agent.run(isResumed ? {} : { prompt: 'Change.' })
const results = agent.turns.flatMap(({ content }) =>
  content.flatMap((block) => (block.type === 'tool_result' ? [block.output] : [])),
)
process.stdout.write(JSON.stringify({ status, results }))
await agent.destroy()
