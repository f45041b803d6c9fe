import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'

/** What takes long begins first: else one worker is at it when the others have nothing left to do. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer['sort']>[0]): ReturnType<BaseSequencer['sort']> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: { moduleId: string }): boolean => long.some((name) => moduleId.endsWith(name))
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

const long = [
  'src/testing/execution-contract.slow.test.ts',
  'test/cli/agents.slow.test.ts',
  'test/cli/mcp.slow.test.ts',
  'src/workflow/rollback/file-snapshots.slow.test.ts',
  'src/execution/bubblewrap.slow.test.ts',
  'test/crash/crash.test.ts',
  'test/docs.test.ts',
  'test/mcp/faults-http.slow.test.ts',
  'src/execution/docker.slow.test.ts',
]

// Workers and the hundreds of processes that tests start find compiled what an earlier one compiled already. A folder for
// each day: `builtCli` removes old ones.
const today = new Date().toISOString().slice(0, 10)
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, `node_modules/.cache/libero-test/compiled-${today}`)

const fast = ['src/**/*.test.ts', 'test/{stories,workflow}/**/*.test.ts']
const system = ['test/{authority,cli,faults,mcp,oracles,rpc,scaling,skills,strict}/**/*.test.ts']
const slow = ['{src,test}/**/*.slow.test.ts', 'test/*.test.ts', 'test/{crash,package}/**/*.test.ts']

/** A machine may have much else to do: what takes long is given time. */
const patient = { testTimeout: 60_000, hookTimeout: 60_000 }

export default defineConfig({
  resolve: { conditions: ['libero-source'] },
  ssr: { resolve: { conditions: ['libero-source'] } },
  test: {
    setupFiles: ['test/setup.ts'],
    testTimeout: 20_000,
    // More than there are cores: much of the time a test waits for a process, a timer or a disk.
    maxWorkers: Math.ceil(availableParallelism() * 2.5),
    sequence: { sequencer: LongestFirst },
    projects: [
      // Quick ones share a worker and its modules: starting one for each would take longer than they do.
      { extends: true, test: { name: 'fast', isolate: false, include: fast, exclude: ['**/*.slow.test.ts'] } },
      {
        extends: true,
        test: { name: 'system', isolate: false, include: system, exclude: ['**/*.slow.test.ts'], ...patient },
      },
      { extends: true, test: { name: 'slow', include: slow, ...patient } },
    ],
  },
})
