// Which meshes a floor needs, and where. It names no type of Unreal, so any C++ compiler compiles it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "floor_gen.h"

namespace Floors
{
struct FreeFloor
{
    void operator()(const floor_gen_floor* Floor) const { floor_gen_floor_free(Floor); }
};
using FloorPtr = std::unique_ptr<const floor_gen_floor, FreeFloor>;

// A floor of the built-in pack, or nothing and the reason in Error.
inline FloorPtr Generate(uint64_t Seed, uint32_t Number, std::string& Error)
{
    FloorPtr Floor(floor_gen_generate(floor_gen_pack_built_in(), Seed, Number, 0, 0, FLOOR_GEN_FLOOR_KIND_UNSPECIFIED));
    if (!Floor)
    {
        Error = floor_gen_error_message();
    }
    return Floor;
}

struct Cell
{
    uint32_t X, Y;
};

// The cells of each mesh. Rock that no one can see has none.
struct Layout
{
    std::vector<Cell> Ground, Walls;
};

inline bool IsRock(const floor_gen_floor& Floor, int64_t X, int64_t Y)
{
    if (X < 0 || Y < 0 || X >= Floor.width || Y >= Floor.height)
    {
        return true;
    }
    const uint8_t Terrain = Floor.terrain[Y * Floor.width + X];
    return Terrain == FLOOR_GEN_TERRAIN_WALL || Terrain == FLOOR_GEN_TERRAIN_SECRET_DOOR;
}

// Whether one of the eight cells around a cell is no rock.
inline bool IsSeen(const floor_gen_floor& Floor, int64_t X, int64_t Y)
{
    for (int64_t DY = -1; DY <= 1; DY++)
    {
        for (int64_t DX = -1; DX <= 1; DX++)
        {
            if (!IsRock(Floor, X + DX, Y + DY))
            {
                return true;
            }
        }
    }
    return false;
}

inline Layout LayOut(const floor_gen_floor& Floor)
{
    Layout Found;
    for (uint32_t Y = 0; Y < Floor.height; Y++)
    {
        for (uint32_t X = 0; X < Floor.width; X++)
        {
            if (!IsRock(Floor, X, Y))
            {
                Found.Ground.push_back({X, Y});
            }
            else if (IsSeen(Floor, X, Y))
            {
                Found.Walls.push_back({X, Y});
            }
        }
    }
    return Found;
}
} // namespace Floors
