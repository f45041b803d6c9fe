import type { TenantLimits } from '../dispatcher.ts'

/** How many jobs of a tenant may be claimed at once. */
export function tenantLimit(limits: TenantLimits, tenant: string): number {
  const own = Object.hasOwn(limits, tenant) ? limits[tenant] : limits.default
  return own ?? Number.POSITIVE_INFINITY
}
