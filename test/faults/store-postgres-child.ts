import { once } from 'node:events'
import { createPostgresStore } from '../../src/sessions/postgres-store.ts'
import { entry } from '../../src/testing/store-contract-kit.ts'

/** A process that holds the leases of two sessions, and appends to both when it is told to. Arguments: the url, the schema. */
const [url = '', schema = ''] = process.argv.slice(2)
const store = createPostgresStore({ url, schema, listen: false })
const say = (word: string): void => void process.stdout.write(`${word}\n`)

const epochs = new Map<string, number>()
for (const id of ['s', 't']) {
  const { epoch, lost } = await store.lease(id, { owner: 'child', ttlMs: 900, create: true, ofProcess: true })
  await store.append(id, [entry(1)], { epoch, head: 0 })
  lost?.addEventListener('abort', () => say(`${id} lost: ${lost.reason.name} ${lost.reason.owner}`))
  epochs.set(id, epoch)
}
say('leased')

await once(process.stdin, 'data')
process.stdin.destroy()
for (const [id, epoch] of epochs)
  await store.append(id, [entry(2, 'by the child')], { epoch, head: 1 }).then(
    () => say(`${id} appended`),
    (error: Error) => say(`${id} refused: ${error.name}`),
  )
await store.close?.()
