import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'

/**
 * What takes long begins first: else one worker is at it when the others have nothing left to do. What is alone comes
 * before it: between two files that share a worker it would end that worker.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer['sort']>[0]): ReturnType<BaseSequencer['sort']> {
    const rank = ({ moduleId }: { moduleId: string }): number => {
      if (alone.some((name) => moduleId.endsWith(name))) return -1
      const place = long.findIndex((name) => moduleId.endsWith(name))
      if (place !== -1) return place
      return long.length + (/\.slow\.test\.ts$|\/test\/(?:crash|package)\//.test(moduleId) ? 0 : 1)
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

const long = [
  'test/package/package.test.ts',
  'test/web/accessible.slow.test.ts',
  'test/web/hostile-content.slow.test.ts',
  'test/offline.test.ts',
  'test/examples.test.ts',
  'test/cli/agents.slow.test.ts',
  'test/cli/mcp.slow.test.ts',
  'src/snapshots/file-snapshots.slow.test.ts',
  'src/testing/execution-contract.slow.test.ts',
  'src/execution/bubblewrap.slow.test.ts',
  'test/crash/crash.test.ts',
  'test/docs.test.ts',
  'test/mcp/faults-http.slow.test.ts',
  'src/execution/docker.slow.test.ts',
]

/** What needs a process of its own: it replaces modules, measures memory, or counts what the process holds. */
const alone = [
  'src/execution/process-commands.slow.test.ts',
  'src/execution/process.slow.test.ts',
  'src/mcp/definitions/pattern-problem.slow.test.ts',
  'src/mcp/serve/agent-server.test.ts',
  'src/mcp/stdio/nothing-left.slow.test.ts',
  'src/mcp/stdio/stdio-transport.slow.test.ts',
  'src/providers/sse.slow.test.ts',
  'src/tools/search/search.slow.test.ts',
  'src/tools/shell.slow.test.ts',
  'test/stories/endurance.slow.test.ts',
  'test/stories/held-sessions.slow.test.ts',
  'test/stories/project-trust.slow.test.ts',
  'test/stories/untrusted-project.slow.test.ts',
]

// Workers and the hundreds of processes that tests start find compiled what an earlier one compiled already. A folder for
// each day: `builtCli` removes old ones.
const today = new Date().toISOString().slice(0, 10)
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, `node_modules/.cache/libero-test/compiled-${today}`)

// Vitest does not give `--exclude` to projects.
const slow = process.env.LIBERO_FAST ? ['**/*.slow.test.ts'] : []

export default defineConfig({
  resolve: { conditions: ['libero-source'] },
  ssr: { resolve: { conditions: ['libero-source'] } },
  test: {
    globalSetup: ['test/system-programs.ts'],
    setupFiles: ['test/setup.ts'],
    // A machine may have much else to do.
    // In CI a test that fails runs once more, and both are reported: it may be drawn with a rare order of processes.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } }, // of `vi.waitFor` in test/setup.ts
    // More than there are cores: much of the time a test waits for a process, a timer or a disk.
    maxWorkers: Math.ceil(availableParallelism() * 2.5),
    sequence: { sequencer: LongestFirst },
    projects: [
      // They share workers and modules: a worker for each file would take longer than most files do.
      {
        extends: true,
        test: { name: 'shared', isolate: false, include: ['{src,test}/**/*.test.ts'], exclude: [...alone, ...slow] },
      },
      { extends: true, test: { name: 'alone', include: alone, exclude: slow } },
    ],
  },
})
