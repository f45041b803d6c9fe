// The fleet of fleet/fleet.ts on a laptop: two workers in this process, one session for each of three tenants.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readEvents } from 'libero/events'

const folder = mkdtempSync(join(tmpdir(), 'libero-fleet-'))
process.env.FLEET_FILE = join(folder, 'fleet.db')
const { default: fleet } = await import('./fleet/fleet.ts')
const workers = [fleet.work({ concurrency: 2 }), fleet.work({ concurrency: 2 })]
for (const tenant of ['ada', 'bob', 'cyd']) {
  const id = `hello-${tenant}`
  await fleet.send(id, { kind: 'helper', tenant, prompt: 'Say hello.', clientKey: 'first' })
  await fleet.send(id, { prompt: 'Say hello.', clientKey: 'first' }) // sent again after a lost connection: one message
  for await (const event of readEvents(fleet.store, id)) if (event.durable && event.entry.type === 'run_ended') break
  const { turns = 0 } = (await fleet.store.find(id)) ?? {}
  console.log(`${tenant}: ${turns} turns`)
}
console.log(
  workers.reduce((sum, worker) => sum + worker.status().runs, 0),
  'runs',
)
await Promise.all(workers.map((worker) => worker.drain()))
await fleet.close()
rmSync(folder, { recursive: true })
