import { createAgent, createJsonlStore, createSession, createSqliteStore, loadSession } from '../../src/index.ts'
import { scripted } from '../../src/testing/index.ts'

/** In two stores, a run that waits for its model accepts two messages; then the process is gone. */
const [, , path = '', dir = ''] = process.argv
for (const store of [createSqliteStore({ path }), createJsonlStore({ dir })]) {
  const asked = Promise.withResolvers<void>()
  const provider = scripted(() => {
    asked.resolve()
    return new Promise<never>(() => {})
  })
  const agent = createAgent({ provider, session: await createSession({ store, id: 's' }) })
  void agent.run({ prompt: 'go' })
  await asked.promise
  await agent.steer('from here', { clientKey: 'here' })
  const elsewhere = createAgent({ provider, session: await loadSession(store, 's') })
  await elsewhere.followUp('from elsewhere', { clientKey: 'elsewhere' })
}
process.stdout.write('acknowledged\n', () => process.kill(process.pid, 'SIGKILL'))
