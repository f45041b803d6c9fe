import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { restateDispatcher } from '../../examples/fleet/restate/dispatcher.ts'
import { sleep } from '../../src/core/waiting.ts'
import { dispatcherContract } from '../../src/testing/index.ts'
import { freePort } from '../postgres-server.ts'

// Restate's server is 220 MB, so it is not installed with the others.
const install =
  'npm install --no-save --ignore-scripts @restatedev/restate-server@1.7.12 @restatedev/restate-sdk@1.17.2'
const server = restateServer()
if (!server) console.warn(`The recipe for Restate is not tested here. To test it: ${install}`)

describe.skipIf(!server)('the dispatcher of the recipe for Restate keeps the contract', () => {
  const folder = mkdtempSync(join(tmpdir(), 'restate-'))
  const processes: ChildProcess[] = []
  let url: string
  let queue = 0

  beforeAll(async () => {
    const [ingress, admin, node, service] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
    url = `http://127.0.0.1:${ingress}`
    const start = (command: string, args: string[]): number =>
      processes.push(spawn(command, args, { env, stdio: 'ignore' }))
    const env = {
      ...process.env,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_DISABLE_TELEMETRY: 'true',
    }
    start(server!, ['--base-dir', folder])
    start(process.execPath, [
      fileURLToPath(new URL('../../examples/fleet/restate/queue.mjs', import.meta.url)),
      `${service}`,
    ])
    const register = () =>
      fetch(`http://127.0.0.1:${admin}/deployments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ uri: `http://127.0.0.1:${service}` }),
      })
    for (let tries = 0; tries < 150; tries++) {
      const answer = await register().catch(() => undefined)
      if (answer?.ok) return
      await sleep(200)
    }
    throw new Error('the Restate server did not start within 30 seconds')
  }, 60_000)

  afterAll(() => {
    for (const child of processes) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  const open = (clock: { now(): number }) => restateDispatcher({ url, queue: `q${queue}`, clock })
  const cases = dispatcherContract(
    (clock) => {
      queue++
      return open(clock)
    },
    { again: open },
  )
  for (const { name, run } of cases) test(name, run)
})

function restateServer(): string | undefined {
  try {
    const { resolve } = createRequire(import.meta.url)
    resolve('@restatedev/restate-sdk')
    const found = join(
      resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/package.json`),
      '../bin/restate-server',
    )
    return existsSync(found) ? found : undefined
  } catch {
    return undefined
  }
}
