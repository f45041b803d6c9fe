import { afterAll, beforeAll, beforeEach } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { type Desk, openDesk } from './cli-kit.ts'
import { type PseudoTerminal, type PseudoTerminalOptions, startInTerminal } from './pseudo-terminal.ts'

const main = await builtCli()

interface Sitting extends Omit<PseudoTerminalOptions, 'cwd'> {
  readonly args?: readonly string[]
}

/** For what the tests of a file share: calls the listeners when all of them are over. */
export function afterFile(): (end: () => void) => void {
  const ends: (() => void)[] = []
  afterAll(() => {
    for (const end of ends.reverse()) end()
  })
  return (end) => void ends.push(end)
}

/** What stands in the input, its rows as lines. */
export function inputOf(text: string): string {
  const from = text.lastIndexOf('\n ›')
  const rows = text.slice(from + 1).split('\n')
  const end = rows.findIndex((row) => /^(?: {3}(?:enter |esc |cleared|ctrl\+c |stopping)| \w+ · )/.test(row))
  return rows
    .slice(0, Math.max(0, end))
    .map((row) => row.slice(3).trimEnd())
    .join('\n')
}

/** A scripted service for the tests of a file, and a way to sit down at a terminal and type `libero`. */
export function atTerminal() {
  let service: MockService
  beforeAll(async () => {
    service = await startMockService()
  })
  afterAll(() => service.close())
  beforeEach(() => {
    service.play()
    service.requests.length = 0
  })
  return {
    get service() {
      return service
    },
    openDesk: (...more: [onEnd?: (end: () => void) => void, options?: { snapshots?: boolean }]): Desk =>
      openDesk(service.url, ...more),
    async sit(desk: Desk, { args = [], env, ...options }: Sitting = {}): Promise<PseudoTerminal> {
      const terminal = startInTerminal([process.execPath, main, ...args], {
        ...{ cwd: desk.cwd, env: { ...desk.env, ...env }, columns: 100, rows: 40, ...options },
      })
      await terminal.until(/\n ask/)
      return terminal
    },
  }
}
