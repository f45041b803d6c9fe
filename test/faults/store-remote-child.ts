import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SessionBusyError, type StoreError } from '../../src/core/errors.ts'
import type { LogEntry } from '../../src/core/log.ts'
import { createRemoteStore } from '../../src/sessions/remote-store.ts'

/** A process that uses a remote store with the fetch it has, and says what came of it. Ends when nothing holds it. */
const [url = '', token = ''] = process.argv.slice(2)
const store = createRemoteStore({ url, token })
const label = (seq: number, text: string): LogEntry => ({ seq, id: text, at: seq, type: 'label', text })
const codeOf = (error: unknown): string => (error as StoreError).code

const abort = new AbortController()
const watched: string[] = []
const watching = (async () => {
  for await (const { entries, inbox } of store.watch('a/b', { signal: abort.signal })) {
    watched.push(...entries.map(({ id }) => id), ...inbox.map(({ clientKey }) => clientKey))
    if (watched.length === 1) await store.send('a/b', { clientKey: 'second', mode: 'steer', content: [] })
    if (watched.length === 2) abort.abort()
  }
})()
const { epoch } = await store.lease('a/b', { owner: 'child', ttlMs: 60_000, create: true })
await store.append('a/b', [label(1, 'first')], { epoch, head: 0 })
await watching

const name = await store.blobs('a/b').put(Uint8Array.of(0, 255, 10))
const redirecting = createServer((_, outgoing) => outgoing.writeHead(307, { location: `${url}/sessions` }).end())
await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve))
const elsewhere = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`
const busyOf = (error: unknown) => error instanceof SessionBusyError && `${error.name} of ${error.owner}`
const result = {
  read: (await store.read('a/b')).map(({ seq }) => seq),
  blob: [...((await store.blobs('a/b').get(name)) ?? [])],
  watched,
  busy: await store.lease('a/b', { owner: 'other', ttlMs: 1, create: true }).catch(busyOf),
  tooBig: await store.blobs('a/b').put(new Uint8Array(4_000_000)).catch(codeOf),
  denied: await createRemoteStore({ url, token: 'wrong-token' }).list().catch(codeOf),
  redirect: await createRemoteStore({ url: elsewhere, token }).list().catch(codeOf),
}
redirecting.close()
redirecting.closeAllConnections()
await store.close?.()
console.log(JSON.stringify(result))
