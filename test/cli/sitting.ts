import { afterAll, beforeAll, beforeEach } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { type Desk, openDesk } from './cli-kit.ts'
import { type PseudoTerminal, startInTerminal } from './pseudo-terminal.ts'

const main = await builtCli()

interface Sitting {
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
  readonly columns?: number
  readonly rows?: number
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
    openDesk: (): Desk => openDesk(service.url),
    async sit(desk: Desk, { args = [], env, ...size }: Sitting = {}): Promise<PseudoTerminal> {
      const terminal = startInTerminal([process.execPath, main, ...args], {
        ...{ cwd: desk.cwd, env: { ...desk.env, ...env }, columns: 100, rows: 40, ...size },
      })
      await terminal.until(/\n ask/)
      return terminal
    },
  }
}
