/** SQL for the time in milliseconds: that of the server, or the value of the parameter, which only tests give. */
export const timeSql = (parameter: string): string =>
  `coalesce(${parameter}::float8, floor(extract(epoch from clock_timestamp()) * 1000)::float8)`

/** SQL for whether the lease in the row `held` is valid at this time. The row `holder` is the process of the lease. */
export const isHeldSql = (now: string): string =>
  `coalesce(case when held.expires is null then holder.beat + held.ttl else held.expires end > ${now}, false)`
