import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['libero-source'] },
  ssr: { resolve: { conditions: ['libero-source'] } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    testTimeout: 20_000,
    // More than there are cores: much of the time a test waits for a process, a timer or a disk.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
  },
})
