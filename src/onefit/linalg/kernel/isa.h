/* Everything once for an instruction set: kernel.c sets SUFFIX, W, TI and NB. */
#include "lanes.h"
#include "gram.h"
#include "moments.h"
#include "onestep.h"
#include "leavetwo.h"
#include "predict.h"
#include "collect.h"
#include "score.h"
#include "newton.h"
#include "lasso.h"
#include "without.h"
#include "tables.h"

static const kernels NAME(kernels_of) = {LABEL, W, TI, NB, NAME(gram), NAME(moments), NAME(onestep), NAME(leavetwo),
                                         NAME(predict), NAME(collect), NAME(gather), NAME(residuals), NAME(score),
                                         NAME(newton), NAME(lasso), NAME(without), NAME(scale), NAME(project),
                                         NAME(interleave), NAME(exceeds), NAME(deal)};

#undef SUFFIX
#undef LABEL
#undef W
#undef TI
#undef NB
#undef VEC
#undef ZERO
#undef SPREAD
