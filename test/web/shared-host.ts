import { afterAll, beforeAll } from 'vitest'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { type Furnished, furnish } from './furnished.ts'

export interface SharedHost {
  readonly host: Furnished
  readonly service: MockService
}

/** One furnished `libero web` for all tests of a file. What a test changes, those after it find changed. */
export function sharedHost(): () => SharedHost {
  let shared: SharedHost
  let service: MockService | undefined
  const ends: (() => void)[] = []
  beforeAll(async () => {
    service = await startMockService()
    shared = { service, host: await furnish(service, (end) => ends.push(end)) }
  })
  // Also where furnishing failed or took too long: no process is left behind.
  afterAll(async () => {
    for (const end of ends.reverse()) end()
    await service?.close()
  })
  return () => shared
}
