import { UsageError } from '../cli-error.ts'
import { defineCommand, type Flags, type Values } from '../command.ts'

/** The flag of every command that works with a fleet. */
export const configFlag = {
  type: 'string',
  value: 'file',
  says: 'The module whose default export is a fleet: what createFleet of libero/durable returns',
} as const

const workerFlags = {
  config: configFlag,
  concurrency: { type: 'string', value: 'n', min: 1, says: 'How many sessions it runs at once; default 20' },
  port: { type: 'string', value: 'n', min: 0, says: 'The port for health, metrics and streams; default: any free one' },
  host: { type: 'string', value: 'address', says: 'The address to listen on; default 127.0.0.1' },
  address: {
    type: 'string',
    value: 'url',
    says: 'Where servers reach this worker, such as http://worker-3:9464; default: the address it listens on',
  },
  grace: { type: 'string', value: 'seconds', min: 0, says: 'How long runs may go on after SIGTERM; default 30' },
} as const satisfies Flags

/** The flags of `libero worker`, as they were given. */
export type WorkerValues = Values<typeof workerFlags>

export const command = defineCommand({
  name: 'worker',
  summary: 'Work on the sessions of a fleet, one of any number of such processes',
  details: [
    'Claims sessions that have something to do, runs their agents, and takes over the sessions of workers that died (docs/fleet.md). What it runs is in the module of --config, which servers and other workers use too.',
    'Prints “working at http://127.0.0.1:PORT” on stdout. There, GET /healthz answers while the process lives, /readyz while it takes sessions and its store answers, /metrics counts for Prometheus.',
    'SIGTERM and Ctrl-C drain it: it takes nothing new, waits for its runs, and after --grace leaves the others to other workers. Another signal a second later or more quits at once, as if it had died.',
  ],
  flags: workerFlags,
  examples: [
    { line: 'libero worker --config fleet.ts --concurrency 200 --port 9464', says: 'One worker of a fleet' },
    {
      line: 'libero worker --config fleet.ts --host 0.0.0.0 --address http://worker-3:9464 --port 9464',
      says: 'Servers on other machines show what its models stream',
    },
  ],
  run: async ({ values }, io) => (await import('../fleet/worker.ts')).worker(checkWorker(values), io),
})

function checkWorker(values: WorkerValues): WorkerValues {
  const { config, port, address } = values
  if (config === undefined) throw new UsageError('libero worker needs --config with the module of the fleet')
  if (port !== undefined && Number(port) > 65_535)
    throw new UsageError(`--port takes a port from 0 to 65535, got "${port}"`)
  if (address !== undefined && !/^https?:$/.test(URL.parse(address)?.protocol ?? ''))
    throw new UsageError(`--address must be a url such as http://worker-3:9464, got "${address}"`)
  return values
}
