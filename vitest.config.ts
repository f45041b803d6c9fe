import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['libero-source'] },
  ssr: { resolve: { conditions: ['libero-source'] } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    testTimeout: 20_000,
  },
})
