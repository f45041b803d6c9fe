import { afterEach, expect, test, vi } from 'vitest'
import { innerCommand } from './script.ts'

afterEach(() => vi.restoreAllMocks())

test('E01 the helper inside a sandbox never runs the application that the executable holds', () => {
  const script = innerCommand('/', ['true'], true).join('\n')
  expect(script).toContain(`ELECTRON_RUN_AS_NODE=1 BUN_BE_BUN=1 '${process.execPath}' -e`)
})

test('E01 a single executable application is told why it gets no sandbox with a few allowed hosts', () => {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue({ isSea: () => true } as never)
  expect(() => innerCommand('/', ['true'], true)).toThrow(/single executable application.*`network` to false or true/)
  expect(() => innerCommand('/', ['true'], false)).not.toThrow()
})
