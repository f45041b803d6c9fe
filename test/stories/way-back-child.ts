import { writeSync } from 'node:fs'
import { onFailpoint } from '../../src/core/log.ts'
import { createAgent, createProcessContext, createSqliteStore, openSession } from '../../src/index.ts'
import { createSnapshots } from '../../src/snapshots/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { shell } from '../../src/tools/index.ts'

/**
 * Works in a folder, or rolls its work back. Prints the failpoints that it passes, and kills itself at the given one:
 * `name#hit`.
 */
const [root = '', work = '', killedAt = ''] = process.argv.slice(2)
const passed = new Map<string, number>()
onFailpoint((name) => {
  const point = name.split(':')[0]!
  const hit = (passed.get(point) ?? 0) + 1
  passed.set(point, hit)
  writeSync(1, `${point}#${hit}\n`)
  if (killedAt === `${point}#${hit}`) process.kill(process.pid, 'SIGKILL')
})

const execution = createProcessContext({ cwd: `${root}/work` })
const snapshots = createSnapshots({ execution, store: `${root}/snapshots` })
const store = createSqliteStore({ path: `${root}/sessions.db` })
const session = await openSession(store, 'one', { takeOver: true })
if (work === 'run') {
  const commands = [
    'for f in a b c d; do echo new > $f; done; rm -r old',
    'mkdir -p new; echo x > new/x; ln -sf a link; chmod +x run',
  ]
  const replies = commands.map((command, i) => [call(`c${i}`, 'shell', { command })])
  const agent = createAgent({
    ...{ provider: scripted(...replies, 'Done.'), session, execution, tools: { shell } },
    extensions: [snapshots.extension],
  })
  await agent.run({ prompt: 'Work.' })
  await agent.destroy()
} else {
  await snapshots.rollback(session, { to: 0, force: work === 'rollback by force' })
  await snapshots.close()
}
await store.close?.()
