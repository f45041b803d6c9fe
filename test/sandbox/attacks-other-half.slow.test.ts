import { isSoak } from '../soak.ts'
import { testAttacks } from './attack-sweep.ts'

testAttacks(1, { whole: isSoak })
