import { describe } from 'vitest'
import { withPostgres } from '../postgres-kit.ts'
import { dbosTests } from './dbos-suite.ts'
import { pgBossTests } from './pg-boss-suite.ts'
import { providerLimitsTests } from './provider-limits-suite.ts'

// One server for all of them: to make one takes longer than most tests.
withPostgres('the parts of a fleet in Postgres', (kit) => {
  describe('the dispatcher on pg-boss', () => pgBossTests(kit))
  describe('the dispatcher on DBOS', () => dbosTests(kit))
  describe('the limits of providers', () => providerLimitsTests(kit))
})
