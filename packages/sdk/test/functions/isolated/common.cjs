const exported = {};
exported[["in", "side"].join("")] = () => "inside";
module.exports = exported;
