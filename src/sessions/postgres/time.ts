/** The time of the server in milliseconds, or that of the clock in the parameter, which only tests give. */
export const timeOf = (parameter: string): string =>
  `coalesce(${parameter}::float8, floor(extract(epoch from clock_timestamp()) * 1000)::float8)`

/** Whether a living process holds the lease in the row `held`, with the row `holder` of its process. */
export const isHeld = (now: string): string =>
  `coalesce(case when held.expires is null then holder.beat + held.ttl else held.expires end > ${now}, false)`
