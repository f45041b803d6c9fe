import type { Provider } from '../../src/core/provider.ts'
import { createFleet } from '../../src/durable/create-fleet.ts'
import { inProcessDispatcher } from '../../src/durable/dispatchers/in-process.ts'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { memoryExecution } from '../../src/testing/memory-execution.ts'
import { createWorkflow } from '../../src/workflow/workflow.ts'

/** A worker in a process of its own, whose queue no other process knows: `node agent-worker.ts <sqlite path> [hangs]`. */
const [path = '', hangs] = process.argv.slice(2)
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const provider: Provider = {
  meta: { name: 'worker', defaultModel: 'worker-1', capabilities: {} },
  async *stream(_, signal) {
    print('asked')
    if (hangs) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    yield { type: 'reply', content: [{ type: 'text', text: 'Done.' }], stop: 'end', usage: { input: 1, output: 1 } }
  },
}
const fleet = createFleet({
  store: createSqliteStore({ path }),
  dispatcher: inProcessDispatcher(),
  kinds: {},
  workflow: (given) =>
    createWorkflow({ ...given, provider, definitions: [{ id: 'helper' }], execution: memoryExecution() }),
  onError: (error) => print(`error ${error.message} ${error.cause}`),
})
fleet.work()
process.stdin.resume().once('end', () => void fleet.close()) // it ends with its parent
