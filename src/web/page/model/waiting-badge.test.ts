import { afterEach, expect, test, vi } from 'vitest'
import type { RemotePendingCall } from '../libero.ts'
import { notify } from './waiting-badge.ts'

afterEach(() => void vi.unstubAllGlobals())

test('WB96 a browser that refuses notifications of a page, as on phones, stops nothing else', () => {
  class Refused {
    static permission = 'granted'
    constructor() {
      throw new TypeError('Illegal constructor')
    }
  }
  vi.stubGlobal('Notification', Refused)
  expect(() => notify([{ title: 'Publish' } as RemotePendingCall], () => {})).not.toThrow()
})
