import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['libero-source'] },
  ssr: { resolve: { conditions: ['libero-source'] } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    testTimeout: 20_000,
    // All cores: by default one is left for a screen that nobody looks at here.
    maxWorkers: '100%',
  },
})
